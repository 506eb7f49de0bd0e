// SPDX-License-Identifier: Apache-2.0
// The shapes that arrays on meshes have in the run: those of the XML may be others, or stand there until
// the simulation sets them. They say where arrays on a uniform mesh lie, and whether what was written
// fits its mesh; `leat check` can say so only of what the XML knows.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"

namespace leat::hdf5 {

/// Data are stored whatever it finds: warnings go to the log, each once.
class MeshShapes {
 public:
  MeshShapes(const leat_run& run, Host host) : run_(run), host_(host) {}

  /// Before an iteration is written: remembers shapes at their first time, and compares those that belong
  /// together. How many cells a uniform mesh has, the shortest of its arrays says that come first; who has
  /// neither as many values nor one more has no known place.
  void look_at(const leat_iteration_data& data);
  /// Where the values of a variable lie along its dimension `d`, when it is on a uniform mesh and that
  /// is known. By what the XML lets expect until it was seen.
  std::optional<AxisValues> axis(const leat_variable& variable, unsigned d) const;
  /// After the last iteration: coordinates that never came, and that no file of an earlier run has.
  void close(const std::function<bool(std::uint32_t variable)>& has);

 private:
  struct Cells {
    hsize_t count;
    std::uint32_t by;  // variable
    bool is_settled = false;
  };

  bool remember(const leat_block& block);
  void measure(std::uint32_t variable);
  std::uint32_t place_of(std::uint32_t variable, unsigned d) const;
  void say_unplaced(std::uint32_t variable);
  void compare(std::uint32_t variable);
  void compare(const leat_mesh& mesh, std::uint32_t variable, std::uint32_t coordinate);
  std::string values_along(std::uint32_t variable, std::size_t d) const;
  std::string name_of(std::uint32_t variable) const;

  const leat_run& run_;
  Host host_;
  std::map<std::uint32_t, Shape> shapes_;                       // of whole arrays, by variable
  std::map<std::pair<std::int32_t, unsigned>, Cells> cells_;    // of uniform meshes, by axis
  std::set<std::pair<std::uint32_t, std::uint32_t>> compared_;  // variable, coordinate
};

}  // namespace leat::hdf5
