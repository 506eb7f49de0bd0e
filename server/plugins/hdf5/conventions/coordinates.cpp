// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/coordinates.hpp"

#include "server/plugins/hdf5/conventions/mesh_axes.hpp"

namespace leat::hdf5 {
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

}  // namespace leat::hdf5
