// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/scales.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <cstdio>

namespace leat::hdf5 {
namespace {

// A dimension without coordinates carries this text as the scale's name, with its length in ten
// places.
std::string no_coordinates(hsize_t length) {
  char text[80];
  std::snprintf(text, sizeof text, "This is a netCDF dimension but not a netCDF variable.%10llu",
                static_cast<unsigned long long>(length));
  return text;
}

DatasetPlan plan_of(hsize_t length, bool grows) {
  DatasetPlan plan = growing_list(length);
  if (grows || length == 0) return plan;  // HDF5 has no chunk that fits into a fixed length of 0
  plan.grows = {false};
  plan.chunk = {std::min(length, plan.chunk[0])};
  return plan;
}

}  // namespace

Dataset make_iterations(hid_t file, const std::string& name) {
  Dataset scale(file, name, H5T_NATIVE_INT64, growing_list());
  check(H5DSset_scale(scale.id(), "iteration"), "naming the iterations");
  set_attribute(scale.id(), "long_name", "number of the simulation's iteration");
  return scale;
}

Dataset make_dimension(hid_t file, const std::string& name, hsize_t length, bool grows) {
  Dataset scale(file, name, H5T_NATIVE_FLOAT, plan_of(length, grows));
  check(H5DSset_scale(scale.id(), no_coordinates(length).c_str()), "naming the dimension " + name);
  return scale;
}

Scales::Scales(hid_t file, const leat_run& run) : file_(file) {
  for (std::uint64_t i = 0; i < run.variable_count; ++i)
    taken_.insert(leat_variable_at(&run, i)->name);
  iteration_ = make_iterations(file, take_name("iteration"));
}

std::string Scales::take_name(const std::string& wished) {
  std::string name = wished;
  while (!taken_.insert(name).second) name += "_";
  return name;
}

Dataset Scales::make(const std::string& name, hsize_t length, bool grows) {
  return make_dimension(file_, take_name(name), length, grows);
}

Dataset& Scales::fixed(const std::string& name, hsize_t length) {
  std::unique_ptr<Dataset>& scale = fixed_[{name, length}];
  if (!scale) {
    const int number = ++lengths_of_[name];
    const std::string title = number == 1 ? name : name + "_" + std::to_string(number);
    scale = std::make_unique<Dataset>(make(title, length, false));
  }
  return *scale;
}

Dataset& Scales::growing(const std::string& name) {
  growing_.push_back(std::make_unique<Dataset>(make(name, 0, true)));
  return *growing_.back();
}

}  // namespace leat::hdf5
