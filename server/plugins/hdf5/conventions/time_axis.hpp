// SPDX-License-Identifier: Apache-2.0
// The time of the simulation at the end of each iteration: "time" (iteration), a coordinate beside
// the dimension "iteration". It is the parameter that <time> names in the XML, NaN where that had
// no value. As long as it never had one there is no "time": readers count iterations then.
//
// The dimension stays "iteration": a simulation may give no time in some iteration, or the same
// twice, which a coordinate of a dimension must not. Source: CF Conventions 1.8, section 2.5.1,
// "Missing data", and chapter 5.
#pragma once

#include <string>

#include "server/plugins/hdf5/conventions/dimension_scales.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

class TimeAxis {
 public:
  /// Goes on with what is in the file. Nothing is made before there is a time.
  TimeAxis(hid_t file, const leat_run& run, DimensionScales& scales);
  /// What it is called in the file; "" for none. The same object as long as this lives.
  const std::string& name() const { return times_.name(); }
  /// Before the datasets of an iteration are made: with the first time the coordinate is made, and
  /// named by all that is there and has iterations.
  void expect(const leat_iteration_data& data);
  void write(hsize_t row, const leat_iteration_data& data);

 private:
  void make();

  hid_t file_;
  const leat_run& run_;
  DimensionScales& scales_;
  std::int32_t parameter_;
  Dataset times_;
};

}  // namespace leat::hdf5
