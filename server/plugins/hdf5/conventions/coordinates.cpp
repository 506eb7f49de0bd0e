// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/coordinates.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/dimension_scales.hpp"

namespace leat::hdf5 {
namespace {

const leat_variable& variable_at(const leat_run& run, std::int32_t index) {
  return *leat_variable_at(&run, static_cast<std::uint64_t>(index));
}

bool has_dimension(const leat_variable& variable, const char* name) {
  return std::any_of(variable.dimension, variable.dimension + variable.dims,
                     [name](const leat_dimension& d) { return std::strcmp(d.name, name) == 0; });
}

bool has_all_dimensions(const leat_variable& variable, const leat_variable& of) {
  return std::all_of(of.dimension, of.dimension + of.dims,
                     [&](const leat_dimension& d) { return has_dimension(variable, d.name); });
}

std::string group_of(const std::string& name) { return name.substr(0, name.rfind('/') + 1); }

constexpr const char* kUnits = "leat_axis_units";
constexpr unsigned kMostDims = 8;

std::string axis_name(unsigned dimension) { return "leat_axis_" + std::to_string(dimension); }

}  // namespace

std::vector<double> AxisValues::values(hsize_t count) const {
  std::vector<double> all(count);
  for (hsize_t i = 0; i < count; ++i)
    all[i] = nodes.empty()          ? first + static_cast<double>(i) * step
             : i + 1 < nodes.size() ? (nodes[i] + nodes[i + 1]) / 2
                                    : std::numeric_limits<double>::quiet_NaN();
  return all;
}

std::vector<double> AxisValues::bounds(hsize_t count) const {
  const auto node = [this](hsize_t i) {
    if (nodes.empty()) return edge.value_or(0) + static_cast<double>(i) * step;
    return i < nodes.size() ? nodes[i] : std::numeric_limits<double>::quiet_NaN();
  };
  std::vector<double> all;
  for (hsize_t i = 0; i < count; ++i) all.insert(all.end(), {node(i), node(i + 1)});
  return all;
}

std::uint32_t centering_along(const leat_variable& variable, unsigned d) {
  const std::uint32_t own = variable.dimension[d].centering;
  return own == 0 ? variable.centering : own;
}

bool has_place(const leat_mesh& mesh) {
  if (mesh.kind != LEAT_MESH_UNIFORM && mesh.kind != LEAT_MESH_AMR) return true;
  const auto is_known = [](double number) { return std::isfinite(number); };
  return std::all_of(mesh.origin, mesh.origin + mesh.dims, is_known) &&
         std::all_of(mesh.spacing, mesh.spacing + mesh.dims, is_known);
}

std::size_t meshes_without_place(const leat_run& run) {
  std::size_t count = 0;
  for (std::uint64_t i = 0; i < leat_run_mesh_count(&run); ++i)
    count += has_place(*leat_mesh_at(&run, i)) ? 0 : 1;
  return count;
}

namespace {

bool lies_elsewhere(const leat_mesh& a, const leat_mesh& b) {
  const bool is_placed = a.kind == LEAT_MESH_UNIFORM || a.kind == LEAT_MESH_AMR;
  return is_placed && std::strcmp(a.name, b.name) == 0 && a.kind == b.kind && a.dims == b.dims &&
         has_place(a) && has_place(b) &&
         !(std::equal(a.origin, a.origin + a.dims, b.origin) &&
           std::equal(a.spacing, a.spacing + a.dims, b.spacing));
}

}  // namespace

std::vector<std::pair<const leat_mesh*, const leat_mesh*>> meshes_elsewhere(const leat_run& a,
                                                                            const leat_run& b) {
  std::vector<std::pair<const leat_mesh*, const leat_mesh*>> all;
  for (std::uint64_t i = 0; i < leat_run_mesh_count(&a); ++i)
    for (std::uint64_t k = 0; k < leat_run_mesh_count(&b); ++k)
      if (lies_elsewhere(*leat_mesh_at(&a, i), *leat_mesh_at(&b, k)))
        all.emplace_back(leat_mesh_at(&a, i), leat_mesh_at(&b, k));
  return all;
}

std::optional<AxisValues> uniform_axis(const leat_run& run, const leat_variable& variable,
                                       unsigned d, std::uint32_t centering) {
  const leat_mesh* mesh = leat_variable_mesh(&run, &variable);
  if (!mesh || mesh->kind != LEAT_MESH_UNIFORM || mesh->dims != variable.dims) return {};
  if (!has_place(*mesh)) return {};
  const unsigned axis = variable.dims - 1 - d;  // x runs along the last dimension
  if (centering == LEAT_UNPLACED) return {};
  const double origin = mesh->origin[axis], spacing = mesh->spacing[axis];
  if (centering == LEAT_NODAL) return AxisValues{origin, spacing, mesh->unit, axis, {}, {}, {}, {}};
  return AxisValues{origin + spacing / 2, spacing, mesh->unit, axis, origin, {}, {}, {}};
}

const leat_variable* rectilinear_coordinate(const leat_run& run, const leat_variable& variable,
                                            unsigned d) {
  const leat_mesh* mesh = leat_variable_mesh(&run, &variable);
  if (!mesh || mesh->kind != LEAT_MESH_RECTILINEAR || mesh->coordinate_count != variable.dims)
    return nullptr;
  const leat_variable& found = variable_at(run, mesh->coordinate[variable.dims - 1 - d]);
  return found.dims == 1 && !found.time_varying ? &found : nullptr;
}

std::optional<AxisValues> between_nodes(const leat_run& run, const leat_variable& variable,
                                        unsigned d, std::vector<double> nodes, hsize_t cells) {
  const leat_variable* const of = rectilinear_coordinate(run, variable, d);
  const bool fits =
      of && cells > 0 && nodes.size() == cells + 1 &&
      std::all_of(nodes.begin(), nodes.end(), [](double n) { return std::isfinite(n); });
  if (!fits) return {};
  AxisValues made;
  made.unit = of->unit;
  made.axis = variable.dims - 1 - d;
  made.nodes = std::move(nodes);
  made.standard_name = of->standard_name;
  made.of = of->name;
  return made;
}

bool varies_in_shape(const leat_variable& variable, unsigned first) {
  return std::any_of(variable.dimension + std::min(first, variable.dims),
                     variable.dimension + variable.dims,
                     [](const leat_dimension& d) { return d.varying != 0; });
}

bool is_coordinate_variable(const leat_variable& variable) {
  return variable.dims == 1 && !variable.time_varying && !variable.dimension[0].varying &&
         std::strcmp(variable.name, variable.dimension[0].name) == 0;
}

std::string cf_axis(unsigned axis) { return axis == 0 ? "X" : axis == 1 ? "Y" : ""; }

std::string axis_of(const leat_run& run, const leat_variable& variable) {
  for (std::uint64_t m = 0; m < leat_run_mesh_count(&run); ++m) {
    const leat_mesh& mesh = *leat_mesh_at(&run, m);
    if (mesh.kind != LEAT_MESH_RECTILINEAR) continue;
    for (unsigned axis = 0; axis < mesh.coordinate_count; ++axis) {
      if (&variable_at(run, mesh.coordinate[axis]) == &variable) return cf_axis(axis);
    }
  }
  return "";
}

std::vector<std::string> mesh_coordinates(const leat_run& run, const leat_variable& variable) {
  std::vector<std::string> names;
  const leat_mesh* mesh = leat_variable_mesh(&run, &variable);
  if (!mesh || mesh->kind == LEAT_MESH_POINTS || mesh->kind == LEAT_MESH_UNSTRUCTURED) return names;
  for (unsigned axis = 0; axis < mesh->coordinate_count; ++axis) {
    const leat_variable& coordinate = variable_at(run, mesh->coordinate[axis]);
    const std::string name = coordinate.name, group = group_of(name);
    const bool in_sight = group.empty() || group == group_of(variable.name);
    if (in_sight && !is_coordinate_variable(coordinate) && has_all_dimensions(variable, coordinate))
      names.push_back(name.substr(group.size()));
  }
  return names;
}

void note_axis(hid_t dataset, unsigned dimension, const AxisValues& axis) {
  std::vector<double> numbers{axis.first, axis.step, static_cast<double>(axis.axis)};
  if (axis.edge) numbers.push_back(*axis.edge);
  set_attribute(dataset, axis_name(dimension).c_str(), numbers);
  set_attribute(dataset, kUnits, axis.unit);
}

std::optional<AxisValues> noted_axis(hid_t dataset, unsigned dimension) {
  const std::string name = axis_name(dimension);
  if (!has_attribute(dataset, name)) return {};
  std::vector<double> numbers = numbers_attribute(dataset, name.c_str());
  const bool is_of_cells = numbers.size() > 3;
  numbers.resize(4);
  return AxisValues{numbers[0],
                    numbers[1],
                    text_attribute(dataset, kUnits),
                    static_cast<unsigned>(numbers[2]),
                    is_of_cells ? std::optional(numbers[3]) : std::nullopt,
                    {},
                    {},
                    {}};
}

void remove_noted_axes(hid_t dataset) {
  remove_attribute(dataset, kUnits);
  for (unsigned d = 0; d < kMostDims; ++d) remove_attribute(dataset, axis_name(d));
}

namespace {

// A coordinate at the root, as a dataset called `user` names it: one in a group by the whole path,
// since a name alone would be that of the nearest one.
std::string seen_from(const std::string& user, const std::string& coordinate) {
  return user.find('/') == std::string::npos ? coordinate : "/" + coordinate;
}

void add(std::string* names, const std::string& name) {
  if (!names->empty()) *names += " ";
  *names += name;
}

}  // namespace

std::string coordinates_of(const Target& target, const leat_variable& variable, bool with_rows) {
  std::string names;
  if (is_coordinate_variable(variable)) return names;
  if (with_rows && !target.time.empty()) add(&names, seen_from(variable.name, target.time));
  for (const std::string& name : mesh_coordinates(target.run, variable)) add(&names, name);
  return names;
}

std::string coordinates_of_blocks(const std::vector<std::string>& of_table,
                                  const std::string& name) {
  std::string names;
  for (const std::string& each : of_table) add(&names, seen_from(name, each));
  return names;
}

std::string coordinates_of_rows(const std::string& time, const std::string& name) {
  return time.empty() ? "" : seen_from(name, time);
}

void set_coordinates(const Dataset& dataset, const std::string& coordinates) {
  if (!coordinates.empty()) set_attribute(dataset.id(), "coordinates", coordinates);
}

namespace {

// A length of time without a date to count from is none that CF's `standard_name` of "time" may
// stand for. Source: CF Conventions 1.8, section 4.4, "Time Coordinate".
void describe(const Dataset& times, const leat_run& run, bool of_periods) {
  const std::string unit = run.time_unit, calendar = run.calendar;
  set_attribute(times.id(), "long_name",
                std::string(of_periods ? "middle of the period that values are over"
                                       : "time of the simulation at the end of the iteration"));
  if (!unit.empty()) set_attribute(times.id(), "units", unit);
  if (unit.find(" since ") == std::string::npos) return;
  set_attribute(times.id(), "standard_name", "time");
  set_attribute(times.id(), "axis", "T");
  if (!calendar.empty()) set_attribute(times.id(), "calendar", calendar);
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

// Of a period, its middle, as climate models have it.
double time_of(const leat_run& run, const leat_iteration_data& data) {
  const std::int32_t number = leat_run_time_parameter(&run);
  const auto place = static_cast<std::uint64_t>(number);
  if (number < 0 || place >= data.parameter_count) return std::numeric_limits<double>::quiet_NaN();
  const leat_parameter& time = *leat_parameter_at(&data, place);
  if (time.type != LEAT_FLOAT64 || !time.has_value) return std::numeric_limits<double>::quiet_NaN();
  const double* const window = leat_iteration_window(&data);
  return window ? window[0] + (window[1] - window[0]) / 2 : time.real;
}

TimeAxis::TimeAxis(hid_t file, const leat_run& run, DimensionScales& scales)
    : file_(file), run_(run), scales_(scales) {
  const std::string& rows = scales.rows().name();
  if (!rows.empty() && rows != scales.iteration().name()) {
    times_ = opened(rows);
    times_.truncate_rows(scales.iteration().extents()[0]);
    beside_ = scales.iteration().name();
  } else if (leat_run_time_parameter(&run) >= 0 && scales.has("time")) {
    make_beside();
  }
  if (!rows.empty() && is_dataset(file, rows + kBoundsSuffix)) open_bounds();
}

// Source: CF Conventions 1.8, section 7.1, "Cell Boundaries".
void TimeAxis::open_bounds() {
  DatasetPlan plan = growing_list();
  plan.extents.push_back(2);
  plan.grows.push_back(false);
  plan.chunk.push_back(2);
  const std::string name = scales_.rows().name() + kBoundsSuffix;
  bounds_ = Dataset(file_, scales_.take_name(name), H5T_NATIVE_DOUBLE, plan);
  scales_.attach_rows(bounds_);
  scales_.name(bounds_, 1, {"bnds", 2});
  if (bounds_.is_new()) set_attribute(scales_.rows().id(), "bounds", bounds_.name());
}

Dataset TimeAxis::opened(const std::string& name, bool of_periods) const {
  DatasetPlan plan = growing_list();
  plan.fill = fill_value(LEAT_FLOAT64);
  Dataset times(file_, name, H5T_NATIVE_DOUBLE, plan);
  if (times.is_new()) describe(times, run_, of_periods);
  return times;
}

void TimeAxis::name_rows(const leat_iteration_data& data) {
  if (std::isnan(time_of(run_, data))) return scales_.name_rows(scales_.iteration());
  times_ = opened(scales_.take_name("time"), leat_iteration_window(&data) != nullptr);
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
  if (!scales_.rows().exists()) {
    name_rows(data);
    if (leat_iteration_window(&data)) open_bounds();
    return;
  }
  if (times_.exists() || std::isnan(time_of(run_, data))) return;
  make_beside();
  name_time_of_rows(file_, scales_.rows(), beside_);
}

void TimeAxis::write(hsize_t row, const leat_iteration_data& data) {
  if (const double* const window = leat_iteration_window(&data); window && bounds_.exists()) {
    bounds_.grow_to({row + 1, 2});
    bounds_.write({row, 0}, {1, 2}, window);
  }
  if (!times_.exists()) return;
  const double time = time_of(run_, data);
  times_.grow_to({row + 1});
  times_.write({row}, {1}, &time);
}

}  // namespace leat::hdf5
