// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/scales.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace leat::hdf5 {
namespace {

constexpr hsize_t kScaleChunk = 8192;

// A dimension without coordinates carries this text as the scale's name, with its length in ten
// places.
std::string no_coordinates(hsize_t length) {
  char text[80];
  std::snprintf(text, sizeof text, "This is a netCDF dimension but not a netCDF variable.%10llu",
                static_cast<unsigned long long>(length));
  return text;
}

DatasetPlan plan_of(hsize_t length, bool grows) {
  DatasetPlan plan;
  plan.extents = {length};
  plan.grows = {grows || length == 0};  // HDF5 has no chunk that fits into a fixed length of 0
  plan.chunk = {plan.grows[0] ? kScaleChunk : std::min(length, kScaleChunk)};
  return plan;
}

bool is_scale(hid_t file, const std::string& name) {
  if (!is_dataset(file, name)) return false;
  return H5DSis_scale(Id(H5Dopen2(file, name.c_str(), H5P_DEFAULT), "cannot open " + name)) > 0;
}

// What no_coordinates() was called with.
hsize_t length_at_first(const Dataset& scale) {
  char text[80] = "";
  check(H5DSget_scale_name(scale.id(), text, sizeof text), "cannot read " + scale.name());
  const std::string all = text;
  return all.size() < 10 ? 0 : std::strtoull(all.substr(all.size() - 10).c_str(), nullptr, 10);
}

}  // namespace

Dataset make_iterations(hid_t file, const std::string& name) {
  Dataset iterations(file, name, H5T_NATIVE_INT64, growing_list());
  if (!iterations.is_new()) return iterations;
  check(H5DSset_scale(iterations.id(), "iteration"), "naming the iterations");
  set_attribute(iterations.id(), "long_name", "number of the simulation's iteration");
  return iterations;
}

std::vector<std::int64_t> numbers_in(const Dataset& iterations) {
  std::vector<std::int64_t> numbers(iterations.extents()[0]);
  iterations.read({0}, {numbers.size()}, numbers.data());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Dataset make_dimension(hid_t file, const std::string& name, hsize_t length, bool grows) {
  Dataset scale(file, name, H5T_NATIVE_FLOAT, plan_of(length, grows));
  if (scale.is_new())
    check(H5DSset_scale(scale.id(), no_coordinates(length).c_str()),
          "naming the dimension " + name);
  return scale;
}

Scales::Scales(hid_t file, const leat_run& run) : file_(file) {
  for (std::uint64_t i = 0; i < run.variable_count; ++i)
    taken_.insert(leat_variable_at(&run, i)->name);
  std::string name = "iteration";
  while (!taken_.insert(name).second) name += "_";
  iteration_ = make_iterations(file, name);
}

// What is in the file and is no scale has this name from a writer before this one, for the same.
std::string Scales::name_for(const std::string& wished) const {
  std::string name = wished;
  while (taken_.count(name) > 0 || is_scale(file_, name)) name += "_";
  return name;
}

std::string Scales::take_name(const std::string& wished) {
  return *taken_.insert(name_for(wished)).first;
}

bool Scales::has(const std::string& wished) const { return is_in(file_, name_for(wished)); }

std::string Scales::take_new_name(const std::string& wished) {
  std::string name = wished;
  while (taken_.count(name) > 0 || is_in(file_, name)) name += "_";
  taken_.insert(name);
  return name;
}

Dataset& Scales::name(Dataset& dataset, std::size_t d, const DimensionName& wish) {
  const std::string path = dataset.scale_of(d);
  Dataset& scale = path.empty() ? scale_for(wish) : known_scale(path, wish);
  dataset.attach_scale(d, scale);
  return scale;
}

Dataset& Scales::scale_for(const DimensionName& wish) {
  std::unique_ptr<Dataset>& scale = scales_[{wish.name, wish.grows ? H5S_UNLIMITED : wish.length}];
  if (!scale) {
    const int number = ++lengths_of_[wish.name];
    const std::string title = number == 1 ? wish.name : wish.name + "_" + std::to_string(number);
    scale = std::make_unique<Dataset>(
        make_dimension(file_, take_new_name(title), wish.grows ? 0 : wish.length, wish.grows));
  }
  return *scale;
}

Dataset& Scales::known_scale(const std::string& path, const DimensionName& wish) {
  Dataset scale(file_, path.substr(1));
  const hsize_t length = wish.grows ? H5S_UNLIMITED : length_at_first(scale);
  std::unique_ptr<Dataset>& known = scales_[{wish.name, length}];
  if (!known) {
    ++lengths_of_[wish.name];
    known = std::make_unique<Dataset>(std::move(scale));
  }
  return *known;
}

}  // namespace leat::hdf5
