// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/stored_tables.hpp"

#include <algorithm>
#include <cmath>

#include "server/plugins/hdf5/base/attributes.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

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
  std::string name = variable + suffix;
  for (int tries = 0; tries < 8; ++tries, name += "_") {
    if (is_dataset(file, name) && !is_variable(file, name)) return name;
  }
  return "";
}

// What has no coordinate but that of its rows.
std::string coordinate_of_rows(hid_t file) {
  const std::string name = table_of(file, "", "iteration_complete");
  return text_attribute(open_dataset(file, name), "coordinates", "");
}

std::vector<double> times_of_rows(hid_t file, const std::vector<std::int64_t>& iterations) {
  std::vector<double> times(iterations.begin(), iterations.end());
  const std::string name = coordinate_of_rows(file);
  if (name.empty()) return times;
  const Dataset dataset(file, name.substr(name.front() == '/' ? 1 : 0));
  std::vector<double> said(product(dataset.extents()));
  dataset.read(zeros(dataset.extents()), dataset.extents(), said.data());
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

}  // namespace leat::hdf5
