// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/part_axes.hpp"

#include "server/plugins/hdf5/base/attributes.hpp"

namespace leat::hdf5 {
namespace {

constexpr const char* kUnits = "leat_axis_units";
constexpr unsigned kMostDims = 8;
const std::string kWhat = "cannot keep the axes of an array";

std::string name_of(unsigned dimension) { return "leat_axis_" + std::to_string(dimension); }

bool is_there(hid_t object, const std::string& name) {
  return check(H5Aexists(object, name.c_str()), kWhat) > 0;
}

}  // namespace

void note_axis(hid_t dataset, unsigned dimension, const AxisValues& axis) {
  const double numbers[] = {axis.first, axis.step, static_cast<double>(axis.axis)};
  const hsize_t three = 3;
  const Id space(H5Screate_simple(1, &three, nullptr), kWhat);
  const Id attribute(H5Acreate2(dataset, name_of(dimension).c_str(), H5T_NATIVE_DOUBLE, space,
                                H5P_DEFAULT, H5P_DEFAULT),
                     kWhat);
  check(H5Awrite(attribute, H5T_NATIVE_DOUBLE, numbers), kWhat);
  if (!is_there(dataset, kUnits)) set_attribute(dataset, kUnits, axis.unit);
}

std::optional<AxisValues> noted_axis(hid_t dataset, unsigned dimension) {
  if (!is_there(dataset, name_of(dimension))) return {};
  const Id attribute(H5Aopen(dataset, name_of(dimension).c_str(), H5P_DEFAULT), kWhat);
  double numbers[3] = {};
  check(H5Aread(attribute, H5T_NATIVE_DOUBLE, numbers), kWhat);
  return AxisValues{numbers[0], numbers[1], text_attribute(dataset, kUnits),
                    static_cast<unsigned>(numbers[2])};
}

void remove_noted_axes(hid_t dataset) {
  if (is_there(dataset, kUnits)) check(H5Adelete(dataset, kUnits), kWhat);
  for (unsigned d = 0; d < kMostDims; ++d) {
    if (is_there(dataset, name_of(d))) check(H5Adelete(dataset, name_of(d).c_str()), kWhat);
  }
}

}  // namespace leat::hdf5
