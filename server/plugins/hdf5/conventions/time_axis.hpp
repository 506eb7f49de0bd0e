// SPDX-License-Identifier: Apache-2.0
// The time of the simulation at the end of each iteration: "time", the parameter that <time> names
// in the XML. When it has a value in the first row the rows are called after it: "time" (time) is
// their coordinate variable, and "iteration" (time) a coordinate beside it. Else rows are called
// "iteration", and a time that comes later is the coordinate beside: "time" (iteration). As long as
// it never had a value there is no "time": readers count iterations then.
//
// Where the parameter has no value is NaN, and the same time may come twice: what a simulation says
// is kept, though CF wants neither of a coordinate variable; "iteration" tells rows apart. Source:
// CF Conventions 1.8, section 2.5.1, "Missing data", and chapter 5.
#pragma once

#include <string>

#include "server/plugins/hdf5/conventions/dimension_scales.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

class TimeAxis {
 public:
  /// Goes on with what is in the file. Nothing is made before there is a row.
  TimeAxis(hid_t file, const leat_run& run, DimensionScales& scales);
  /// The coordinate beside the one that rows are called after; "" for none. The same object as long
  /// as this lives.
  const std::string& beside() const { return beside_; }
  /// Before the datasets of an iteration are made. With the first row it is decided what rows are
  /// called after; with a time that comes later it is named by all that is there and has rows.
  void expect(const leat_iteration_data& data);
  void write(hsize_t row, const leat_iteration_data& data);

 private:
  Dataset opened(const std::string& name) const;
  void name_rows(const leat_iteration_data& data);
  void make_beside();

  hid_t file_;
  const leat_run& run_;
  DimensionScales& scales_;
  std::int32_t parameter_;
  Dataset times_;
  std::string beside_;
};

}  // namespace leat::hdf5
