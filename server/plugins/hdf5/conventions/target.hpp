// SPDX-License-Identifier: Apache-2.0
// Where a store writes: its open file, and what all that is written there goes by.
#pragma once

#include <string>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/conventions/dimension_scales.hpp"

namespace leat::hdf5 {

/// Outlived by what is given.
struct Target {
  hid_t file;
  DimensionScales& scales;
  const leat_run& run;
  const std::string& time;  ///< what the coordinate of iterations is called now; "" for none
};

}  // namespace leat::hdf5
