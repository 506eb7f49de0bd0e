// SPDX-License-Identifier: Apache-2.0
// The time of the simulation at the end of each iteration: "time" (iteration), a coordinate beside
// the dimension "iteration". It is the parameter that <time> names in the XML, NaN where that had
// no value.
//
// The dimension stays "iteration": a simulation may give no time in some iteration, or the same
// twice, which a coordinate of a dimension must not. Source: CF Conventions 1.8, section 2.5.1,
// "Missing data", and chapter 5.
#pragma once

#include <string>

#include "server/plugins/hdf5/dataset.hpp"
#include "server/plugins/hdf5/scales.hpp"

namespace leat::hdf5 {

class TimeAxis {
 public:
  /// Goes on with what is in the file. Nothing is made for a run without a time.
  TimeAxis(hid_t file, const leat_run& run, Scales& scales);
  /// What it is called in the file; "" for none.
  const std::string& name() const { return times_.name(); }
  void write(hsize_t row, const leat_iteration_data& data);

 private:
  std::int32_t parameter_;
  Dataset times_;
};

}  // namespace leat::hdf5
