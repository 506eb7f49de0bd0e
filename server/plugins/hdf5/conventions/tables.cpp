// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/tables.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"

namespace leat::hdf5 {
namespace {

constexpr hsize_t kAtOnce = 1 << 16;  // numbers

bool is_variable(hid_t file, const std::string& name) {
  return check(H5Aexists_by_name(file, name.c_str(), "leat_layout", H5P_DEFAULT), name) > 0;
}

}  // namespace

std::vector<std::int64_t> integers_of(hid_t file, const std::string& name, Shape* extents) {
  const Id dataset = open_dataset(file, name);
  const Shape shape = extents_of(dataset);
  std::vector<std::int64_t> all(product(shape));
  read_part(dataset, H5T_NATIVE_INT64, zeros(shape), shape, all.data(), "cannot read " + name);
  // It may have grown meanwhile.
  if (extents) *extents = shape;
  return all;
}

std::string table_of(hid_t file, const std::string& variable, const std::string& suffix) {
  for (const std::string& group : {own_group(file), std::string()}) {
    std::string name = group + variable + suffix;
    for (int tries = 0; tries < 8; ++tries, name += "_") {
      if (is_dataset(file, name) && !is_variable(file, name)) return name;
    }
  }
  return "";
}

std::string scale_of_rows(hid_t file) {
  const std::string iterations = table_of(file, "", "iteration");
  if (iterations.empty()) return "";
  const Id dataset = open_dataset(file, iterations);
  if (is_scale(dataset)) return iterations;
  const std::vector<std::string> scales = scales_of(dataset, 0);
  return scales.empty() ? "" : scales.front();
}

// As a table has it that has no coordinate but that of its rows.
std::string coordinate_of_rows(hid_t file) {
  const std::string table = table_of(file, "", "iteration_complete");
  if (table.empty()) return "";
  const std::string name = text_attribute(open_dataset(file, table), "coordinates", "");
  return name.substr(name.rfind('/') + 1);
}

std::string name_of_times(hid_t file) {
  const std::string rows = scale_of_rows(file);
  return rows == table_of(file, "", "iteration") ? coordinate_of_rows(file) : rows;
}

std::vector<double> doubles_of(hid_t file, const std::string& name) {
  const Id dataset = open_dataset(file, name);
  const Shape extents = extents_of(dataset);
  std::vector<double> all(product(extents));
  read_part(dataset, H5T_NATIVE_DOUBLE, zeros(extents), extents, all.data(), "cannot read " + name);
  return all;
}

std::vector<double> times_of_rows(hid_t file, const std::vector<std::int64_t>& iterations) {
  std::vector<double> times(iterations.begin(), iterations.end());
  const std::string name = name_of_times(file);
  if (name.empty()) return times;
  const std::vector<double> said = doubles_of(file, name);
  for (std::size_t row = 0; row < times.size() && row < said.size(); ++row) {
    if (std::isfinite(said[row])) times[row] = said[row];
  }
  return times;
}

RowTable::RowTable(hid_t file, const std::string& name, bool has_rows)
    : name_(name), has_rows_(has_rows) {
  if (is_dataset(file, name)) data_ = open_dataset(file, name);
}

std::vector<std::int64_t> RowTable::row(hsize_t row) {
  if (!has_rows_) row = 0;
  if (!exists()) return {};
  if (row < first_ || row >= first_ + count_) read_from(row);
  if (count_ == 0) return {};
  const auto begin = values_.begin() + static_cast<std::ptrdiff_t>((row - first_) * width_);
  return {begin, begin + static_cast<std::ptrdiff_t>(width_)};
}

std::vector<std::int64_t> RowTable::rows(hsize_t first, hsize_t count) {
  std::vector<std::int64_t> all;
  for (hsize_t at = first; exists() && at < first + count;) {
    if (at < first_ || at >= first_ + count_) read_from(at);
    if (count_ == 0) break;
    const hsize_t some = std::min(first + count, first_ + count_) - at;
    const auto from = values_.begin() + static_cast<std::ptrdiff_t>((at - first_) * width_);
    all.insert(all.end(), from, from + static_cast<std::ptrdiff_t>(some * width_));
    at += some;
  }
  return all;
}

void RowTable::read_from(hsize_t row) {
  Shape count = extents_of(data_);  // it grows
  if (!has_rows_) count = joined(1, count);
  width_ = product(behind(count));
  first_ = row;
  count_ = row < count[0] ? std::min(count[0] - row,
                                     std::max<hsize_t>(1, kAtOnce / std::max<hsize_t>(1, width_)))
                          : 0;
  count[0] = count_;
  const Shape start = joined(row, zeros(behind(count)));
  values_.resize(count_ * width_);
  read_part(data_, H5T_NATIVE_INT64, has_rows_ ? start : behind(start),
            has_rows_ ? count : behind(count), values_.data(), "cannot read " + name_);
}

TableKind counts_of_blocks(std::int64_t largest) {
  return {"_count", "elements of the block", -1, largest};
}

TableKind extents_of_blocks(std::int64_t largest) {
  return {"_extent", "extents of the block", -1, largest};
}

TableKind extents_of_arrays(std::int64_t largest) {
  return {"_global", "extents of the global array in the iteration", -1, largest, true};
}

MaskKind written_mask_of(const std::string& variable) {
  return {"1: " + variable + " was written in this iteration", "not_written written"};
}

MaskKind stored_blocks_of(const std::string& variable) {
  return {"1: the block has values of " + variable, "not_stored stored"};
}

void describe_table(const Dataset& table, const std::string& variable, const TableKind& kind,
                    const std::string& coordinates) {
  set_attribute(table.id(), "long_name", variable + ": " + kind.about);
  if (kind.nothing < 0)
    set_fill_attribute(table.id(), table.type(), number_bytes(table.type(), kind.nothing));
  set_coordinates(table, coordinates);
}

void describe_mask(const Dataset& flags, const MaskKind& kind, const std::string& coordinates) {
  set_attribute(flags.id(), "long_name", kind.about);
  set_attribute(flags.id(), "flag_values", std::vector<std::int8_t>{0, 1});
  set_attribute(flags.id(), "flag_meanings", kind.meanings);
  set_coordinates(flags, coordinates);
}

Dataset open_mask(const Target& target, const std::string& name, const MaskKind& kind,
                  hsize_t length) {
  DatasetPlan plan = growing_list(length);
  plan.fill = {0};
  Dataset flags(target.file, name, H5T_NATIVE_INT8, plan);
  target.scales.attach_rows(flags);
  if (flags.is_new()) describe_mask(flags, kind, coordinates_of_rows(target.time, name));
  return flags;
}

}  // namespace leat::hdf5
