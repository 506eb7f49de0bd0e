// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/mesh_axes.hpp"

#include <algorithm>
#include <cstring>

#include "server/plugins/hdf5/base/objects.hpp"

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
  for (hsize_t i = 0; i < count; ++i) all[i] = first + static_cast<double>(i) * step;
  return all;
}

std::uint32_t centering_along(const leat_variable& variable, unsigned d) {
  const std::uint32_t own = variable.dimension[d].centering;
  return own == 0 ? variable.centering : own;
}

std::optional<AxisValues> uniform_axis(const leat_run& run, const leat_variable& variable,
                                       unsigned d, std::uint32_t centering) {
  const leat_mesh* mesh = leat_variable_mesh(&run, &variable);
  if (!mesh || mesh->kind != LEAT_MESH_UNIFORM || mesh->dims != variable.dims) return {};
  const unsigned axis = variable.dims - 1 - d;  // x runs along the last dimension
  if (centering == LEAT_UNPLACED) return {};
  const double to_centre = centering == LEAT_NODAL ? 0 : mesh->spacing[axis] / 2;
  return AxisValues{mesh->origin[axis] + to_centre, mesh->spacing[axis], mesh->unit, axis};
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
  set_attribute(dataset, axis_name(dimension).c_str(),
                std::vector<double>{axis.first, axis.step, static_cast<double>(axis.axis)});
  set_attribute(dataset, kUnits, axis.unit);
}

std::optional<AxisValues> noted_axis(hid_t dataset, unsigned dimension) {
  const std::string name = axis_name(dimension);
  if (!has_attribute(dataset, name)) return {};
  std::vector<double> numbers = numbers_attribute(dataset, name.c_str());
  numbers.resize(3);
  return AxisValues{numbers[0], numbers[1], text_attribute(dataset, kUnits),
                    static_cast<unsigned>(numbers[2])};
}

void remove_noted_axes(hid_t dataset) {
  remove_attribute(dataset, kUnits);
  for (unsigned d = 0; d < kMostDims; ++d) remove_attribute(dataset, axis_name(d));
}

}  // namespace leat::hdf5
