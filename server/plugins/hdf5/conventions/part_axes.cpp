// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/part_axes.hpp"

#include "server/plugins/hdf5/base/attributes.hpp"

namespace leat::hdf5 {
namespace {

constexpr const char* kUnits = "leat_axis_units";
constexpr unsigned kMostDims = 8;

std::string name_of(unsigned dimension) { return "leat_axis_" + std::to_string(dimension); }

}  // namespace

void note_axis(hid_t dataset, unsigned dimension, const AxisValues& axis) {
  set_attribute(dataset, name_of(dimension).c_str(),
                std::vector<double>{axis.first, axis.step, static_cast<double>(axis.axis)});
  set_attribute(dataset, kUnits, axis.unit);
}

std::optional<AxisValues> noted_axis(hid_t dataset, unsigned dimension) {
  const std::string name = name_of(dimension);
  if (!has_attribute(dataset, name)) return {};
  std::vector<double> numbers = numbers_attribute(dataset, name.c_str());
  numbers.resize(3);
  return AxisValues{numbers[0], numbers[1], text_attribute(dataset, kUnits),
                    static_cast<unsigned>(numbers[2])};
}

void remove_noted_axes(hid_t dataset) {
  remove_attribute(dataset, kUnits);
  for (unsigned d = 0; d < kMostDims; ++d) remove_attribute(dataset, name_of(d));
}

}  // namespace leat::hdf5
