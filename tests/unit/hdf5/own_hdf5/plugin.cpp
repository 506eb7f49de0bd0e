// SPDX-License-Identifier: Apache-2.0
// Stands for a plugin that brings that library along.
#include <cstdint>

#include "server/plugins/hdf5/output/own_hdf5.hpp"

extern "C" __attribute__((visibility("default"))) const char* why_not(std::int32_t in_simulation) {
  static std::string why;
  leat_run run{};
  run.size = sizeof run;
  run.in_simulation = in_simulation;
  why = leat::hdf5::why_not_own_hdf5(run);
  return why.c_str();
}
