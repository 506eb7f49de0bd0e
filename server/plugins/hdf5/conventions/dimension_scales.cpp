// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/dimension_scales.hpp"

#include <algorithm>
#include <cstdlib>

#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"

namespace leat::hdf5 {
namespace {

constexpr hsize_t kScaleChunk = 8192;  // in which nothing is written ever

DatasetPlan plan_of(hsize_t length, bool grows) {
  return {{length}, {grows}, grows ? Shape{kScaleChunk} : Shape{}, {}, {}};
}

std::set<std::string> names_of_variables(const leat_run& run) {
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < run.variable_count; ++i)
    names.insert(leat_variable_at(&run, i)->name);
  return names;
}

// What no_coordinates() was called with.
hsize_t length_at_first(const Dataset& scale) {
  if (has_coordinates(scale.id())) return scale.extents()[0];
  const std::string all = scale_title(scale.id());
  return all.size() < 10 ? 0 : std::strtoull(all.substr(all.size() - 10).c_str(), nullptr, 10);
}

// A dimension with coordinates.
Dataset make_axis(hid_t file, const std::string& name, hsize_t length, bool grows,
                  const AxisValues& values) {
  Dataset scale(file, name, H5T_NATIVE_DOUBLE, plan_of(length, grows));
  if (!scale.is_new()) return scale;
  make_scale(scale.id(), name);
  if (!values.unit.empty()) set_attribute(scale.id(), "units", values.unit);
  set_attribute(scale.id(), "long_name",
                values.of.empty() ? "place along " + std::string(1, "XYZ"[values.axis])
                                  : "middle of the cells between " + values.of);
  if (!values.standard_name.empty())
    set_attribute(scale.id(), "standard_name", values.standard_name);
  const std::string axis = cf_axis(values.axis);
  if (!axis.empty()) set_attribute(scale.id(), "axis", axis);
  scale.write({0}, {length}, values.values(length).data());
  return scale;
}

}  // namespace

Dataset make_iterations(hid_t file, const std::string& name) {
  Dataset iterations(file, name, number_type(file, name), growing_list(0, 1024));
  if (!iterations.is_new()) return iterations;
  set_attribute(iterations.id(), "long_name", "number of the simulation's iteration");
  set_attribute(iterations.id(), "units", "1");
  return iterations;
}

std::vector<std::int64_t> numbers_in(const Dataset& iterations) {
  std::vector<std::int64_t> numbers = read_numbers(iterations, {0}, iterations.extents());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Dataset make_dimension(hid_t file, const std::string& name, hsize_t length, bool grows) {
  Dataset scale(file, name, H5T_NATIVE_FLOAT, plan_of(length, grows));
  if (scale.is_new()) make_scale(scale.id(), no_coordinates(length));
  return scale;
}

DimensionScales::DimensionScales(hid_t file, const leat_run& run)
    : DimensionScales(file, names_of_variables(run)) {}

DimensionScales::DimensionScales(hid_t file, std::set<std::string> variables)
    : file_(file), taken_(std::move(variables)) {
  std::string name = "iteration";
  while (!taken_.insert(name).second) name += "_";
  own_group_ = own_group(file, taken_);
  iteration_ = make_iterations(file, name);
  const std::string rows = is_scale(iteration_.id()) ? name : name_of_rows();
  if (!rows.empty()) rows_ = Dataset(file, rows);
}

// None before the first iteration.
std::string DimensionScales::name_of_rows() {
  const haddr_t scale = iteration_.scale_of(0);
  return scale == HADDR_UNDEF ? "" : path_of(scale);
}

void DimensionScales::name_rows(const Dataset& scale) {
  make_scale(scale.id(), scale.name());
  rows_ = Dataset(file_, scale.name());
  if (scale.name() != iteration_.name())
    iteration_.attach_iterations(rows_, iteration_.extents()[0]);
}

void DimensionScales::attach_rows(Dataset& dataset) {
  dataset.attach_iterations(rows_, iteration_.extents()[0]);
}

// What is in the file and is no scale has this name from a writer before this one, for the same.
std::string DimensionScales::name_for(const std::string& wished) const {
  std::string name = wished;
  const auto is_of_a_scale = [&] {
    return is_dataset(file_, name) && is_scale(open_dataset(file_, name));
  };
  while (taken_.count(name) > 0 || is_of_a_scale()) name += "_";
  return name;
}

std::string DimensionScales::take_name(const std::string& wished) {
  return *taken_.insert(name_for(wished)).first;
}

bool DimensionScales::has(const std::string& wished) const {
  return is_in(file_, name_for(wished));
}

std::string DimensionScales::take_new_name(const std::string& wished) {
  std::string name = wished;
  while (taken_.count(name) > 0 || is_in(file_, name)) name += "_";
  taken_.insert(name);
  return name;
}

Dataset& DimensionScales::name(Dataset& dataset, std::size_t d, const DimensionName& wish) {
  if (wish.scale) {
    dataset.attach_scale(d, *wish.scale);
    return *wish.scale;
  }
  const haddr_t there = dataset.scale_of(d);
  Dataset& scale = there == HADDR_UNDEF ? scale_for(wish) : known_scale(path_of(there), wish);
  dataset.attach_scale(d, scale);
  return scale;
}

void DimensionScales::list_named() {
  if (rows_.exists()) rows_.list_named();
  for (auto& [name, all] : scales_) {
    for (Scale& scale : all) {
      scale.dataset->list_named();
      scale.fill();
    }
  }
}

Dataset& DimensionScales::scale_for(const DimensionName& wish) {
  if (Scale* scale = known(wish)) return *scale->dataset;
  std::vector<Scale>& all = scales_[wish.name];
  const std::size_t number = all.size() + 1;
  const std::string name =
      take_new_name(number == 1 ? wish.name : wish.name + "_" + std::to_string(number));
  const hsize_t length = wish.grows ? 0 : wish.length;
  Dataset made = wish.values ? make_axis(file_, name, length, wish.grows, *wish.values)
                             : make_dimension(file_, name, length, wish.grows);
  all.push_back({wish.grows ? H5S_UNLIMITED : length, wish.values, false,
                 std::make_unique<Dataset>(std::move(made))});
  Dataset& scale = *all.back().dataset;
  if (wish.values && wish.values->has_bounds()) make_bounds(&all.back());
  return scale;
}

// Source: CF Conventions 1.8, section 7.1, "Cell Boundaries".
void DimensionScales::make_bounds(Scale* scale) {
  Dataset& of = *scale->dataset;
  const hsize_t length = of.extents()[0];
  const bool grows = of.may_grow(0);
  DatasetPlan plan{{length, 2}, {grows, false}, {}, {}, {}};
  if (grows) plan.chunk = {kScaleChunk / 2, 2};
  scale->bounds = std::make_unique<Dataset>(file_, take_new_name(of.name() + kBoundsSuffix),
                                            H5T_NATIVE_DOUBLE, plan);
  Dataset& bounds = *scale->bounds;
  bounds.attach_scale(0, of);
  if (length > 0) bounds.write({0, 0}, {length, 2}, scale->values->bounds(length).data());
  set_attribute(of.id(), "bounds", bounds.name());
  const DimensionName two{"bnds", 2};
  const bool is_from_before = !known(two) && taken_.count(two.name) == 0 &&
                              is_dataset(file_, two.name) &&
                              is_scale(open_dataset(file_, two.name));
  if (is_from_before) known_scale(two.name, two);
  name(bounds, 1, two);
}

void DimensionScales::rename_outgrown(Dataset& dataset, std::size_t d, DimensionName wish) {
  const Dataset* const before = dataset.outgrown(d);
  if (!before) return;
  wish.grows = true;
  dataset.change_scale(d, *before, scale_for(wish));
  set_label(dataset, d, wish.name);
}

void DimensionScales::Scale::fill() {
  const hsize_t length = dataset->extents()[0];
  if (values && filled < length) dataset->write({0}, {length}, values->values(length).data());
  if (bounds && filled < length) {
    bounds->grow_to({length, 2});
    bounds->write({0, 0}, {length, 2}, values->bounds(length).data());
  }
  filled = length;
}

bool DimensionScales::Scale::fits(const DimensionName& wish) const {
  return length == (wish.grows ? H5S_UNLIMITED : wish.length) &&
         (!wish.values || is_variable || values == wish.values);
}

DimensionScales::Scale* DimensionScales::known(const DimensionName& wish) {
  std::vector<Scale>& all = scales_[wish.name];
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Scale& scale) { return scale.fits(wish); });
  return found == all.end() ? nullptr : &*found;
}

void DimensionScales::take_coordinates(const Dataset& variable) {
  std::vector<Scale>& all = scales_[variable.name()];
  if (!all.empty() && all.front().is_variable) return;
  if (!is_scale(variable.id())) make_scale(variable.id(), variable.name());
  all.insert(
      all.begin(),
      Scale{variable.extents()[0], {}, true, std::make_unique<Dataset>(file_, variable.name())});
}

// All at once: HDF5 would look for each in all of the file.
std::string DimensionScales::path_of(haddr_t scale) {
  if (paths_.count(scale) == 0) {
    for (const std::string& name : names_in(file_, true)) {
      if (is_dataset(file_, name)) paths_.emplace(address_of(open_dataset(file_, name)), name);
    }
  }
  const auto found = paths_.find(scale);
  if (found == paths_.end()) throw std::runtime_error("a dimension is named by what has no name");
  return found->second;
}

// One object for each: what it says of its length must be so.
Dataset& DimensionScales::known_scale(const std::string& there, const DimensionName& wish) {
  std::vector<Scale>& all = scales_[wish.name];
  const auto old = std::find_if(all.begin(), all.end(),
                                [&](const Scale& scale) { return scale.dataset->name() == there; });
  if (old != all.end()) {
    if (!old->values && !old->is_variable) old->values = wish.values;
    return *old->dataset;
  }
  auto scale = std::make_unique<Dataset>(file_, there);
  const bool is_variable = has_coordinates(scale->id()) && there == wish.name && !wish.values;
  const bool grows = scale->may_grow(0) && !is_variable;
  all.push_back({grows ? H5S_UNLIMITED : length_at_first(*scale), wish.values, is_variable,
                 std::move(scale)});
  const Dataset& known = *all.back().dataset;
  if (const std::string bounds = text_attribute(known.id(), "bounds", "");
      grows && wish.values && !bounds.empty())
    all.back().bounds = std::make_unique<Dataset>(file_, bounds);
  return *all.back().dataset;
}

}  // namespace leat::hdf5
