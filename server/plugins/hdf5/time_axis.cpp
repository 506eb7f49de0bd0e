// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/time_axis.hpp"

#include <limits>

#include "server/plugins/hdf5/types.hpp"

namespace leat::hdf5 {
namespace {

// A length of time without a date to count from is none that CF's `standard_name` of "time" may
// stand for. Source: CF Conventions 1.8, section 4.4, "Time Coordinate".
void describe(const Dataset& times, const leat_run& run) {
  const std::string unit = run.time_unit, calendar = run.calendar;
  set_attribute(times.id(), "long_name", "time of the simulation at the end of the iteration");
  if (!unit.empty()) set_attribute(times.id(), "units", unit);
  if (unit.find(" since ") == std::string::npos) return;
  set_attribute(times.id(), "standard_name", "time");
  set_attribute(times.id(), "axis", "T");
  if (!calendar.empty()) set_attribute(times.id(), "calendar", calendar);
}

double value_of(const leat_parameter& parameter) {
  const bool is_number = parameter.type == LEAT_FLOAT64 && parameter.has_value;
  return is_number ? parameter.real : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

TimeAxis::TimeAxis(hid_t file, const leat_run& run, Scales& scales)
    : parameter_(leat_run_time_parameter(&run)) {
  if (parameter_ < 0) return;
  DatasetPlan plan = growing_list();
  plan.fill = fill_value(LEAT_FLOAT64);
  times_ = Dataset(file, scales.take_name("time"), H5T_NATIVE_DOUBLE, plan);
  times_.attach_iterations(scales.iteration());
  if (!times_.is_new()) return;
  describe(times_, run);
  set_fill_attribute(times_.id(), H5T_NATIVE_DOUBLE, plan.fill);
}

void TimeAxis::write(hsize_t row, const leat_iteration_data& data) {
  if (!times_.exists() || data.size < sizeof data) return;
  times_.grow_to({row + 1});
  if (static_cast<std::uint64_t>(parameter_) >= data.parameter_count) return;
  const double time = value_of(*leat_parameter_at(&data, static_cast<std::uint64_t>(parameter_)));
  times_.write({row}, {1}, &time);
}

}  // namespace leat::hdf5
