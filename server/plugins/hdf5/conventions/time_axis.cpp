// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/time_axis.hpp"

#include <cmath>
#include <limits>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"

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

double value_of(const leat_iteration_data& data, std::int32_t number) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (number < 0 || data.size < sizeof data ||
      static_cast<std::uint64_t>(number) >= data.parameter_count)
    return kNone;
  const leat_parameter& parameter = *leat_parameter_at(&data, static_cast<std::uint64_t>(number));
  return parameter.type == LEAT_FLOAT64 && parameter.has_value ? parameter.real : kNone;
}

// What has a row for each iteration names its time; what was made before there was one does not.
void name_time_of_rows(hid_t file, const Dataset& iterations, const std::string& time) {
  const haddr_t rows = address_of(iterations.id());
  for (const std::string& name : names_in(file, true)) {
    if (name == time || !is_dataset(file, name)) continue;
    const Dataset dataset(file, name);
    if (dataset.extents().empty() || dataset.scale_of(0) != rows) continue;
    const std::string others = text_attribute(dataset.id(), "coordinates", "");
    set_coordinates(dataset,
                    coordinates_of_rows(time, name) + (others.empty() ? "" : " " + others));
  }
}

}  // namespace

TimeAxis::TimeAxis(hid_t file, const leat_run& run, DimensionScales& scales)
    : file_(file), run_(run), scales_(scales), parameter_(leat_run_time_parameter(&run)) {
  const std::string& rows = scales.rows().name();
  if (!rows.empty() && rows != scales.iteration().name()) {
    times_ = opened(rows);
    times_.keep_rows(scales.iteration().extents()[0]);
    beside_ = scales.iteration().name();
  } else if (parameter_ >= 0 && scales.has("time")) {
    make_beside();
  }
}

Dataset TimeAxis::opened(const std::string& name) const {
  DatasetPlan plan = growing_list();
  plan.fill = fill_value(LEAT_FLOAT64);
  Dataset times(file_, name, H5T_NATIVE_DOUBLE, plan);
  if (times.is_new()) describe(times, run_);
  return times;
}

void TimeAxis::name_rows(const leat_iteration_data& data) {
  if (std::isnan(value_of(data, parameter_))) return scales_.name_rows(scales_.iteration());
  times_ = opened(scales_.take_name("time"));
  scales_.name_rows(times_);
  beside_ = scales_.iteration().name();
}

void TimeAxis::make_beside() {
  times_ = opened(scales_.take_name("time"));
  scales_.attach_rows(times_);
  if (times_.is_new()) set_fill_attribute(times_.id(), H5T_NATIVE_DOUBLE, fill_value(LEAT_FLOAT64));
  beside_ = times_.name();
}

void TimeAxis::expect(const leat_iteration_data& data) {
  if (!scales_.rows().exists()) return name_rows(data);
  if (times_.exists() || std::isnan(value_of(data, parameter_))) return;
  make_beside();
  name_time_of_rows(file_, scales_.rows(), beside_);
}

void TimeAxis::write(hsize_t row, const leat_iteration_data& data) {
  if (!times_.exists()) return;
  const double time = value_of(data, parameter_);
  times_.grow_to({row + 1});
  times_.write({row}, {1}, &time);
}

}  // namespace leat::hdf5
