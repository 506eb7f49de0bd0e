// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include "server/include/plugin.h"

namespace leat::hdf5::vtk {

/// A link has no '/' in its name.
inline std::string flat(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

/// What variable `number` is called in VTK, in /VTKHDF and in a sidecar alike.
inline std::string array_name(const leat_run& run, std::uint32_t number) {
  std::string name = flat(leat_variable_at(&run, number)->name);
  for (std::uint32_t i = 0; i < run.variable_count; ++i) {
    const std::string other = leat_variable_at(&run, i)->name;
    const bool is_taken = i < number ? flat(other) == name : other == name;
    if (is_taken && i != number) name += "_";
  }
  return name;
}

}  // namespace leat::hdf5::vtk
