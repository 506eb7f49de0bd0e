// SPDX-License-Identifier: Apache-2.0
// Where arrays on a uniform mesh lie, by the sizes that they have in the run: those of the XML may be
// others, or stand there until the simulation sets them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/conventions/mesh_axes.hpp"

namespace leat::hdf5 {

class UniformCells {
 public:
  UniformCells(const leat_run& run, Host host) : run_(run), host_(host) {}

  /// Before an iteration is written: how many cells meshes have, as the shortest of its new arrays
  /// says. Who has neither as many values nor one more has no known place, which the log says once.
  void look_at(const leat_iteration_data& data);
  /// Where the values of a variable lie along its dimension `d`, when it is on a uniform mesh and that
  /// is known. By what the XML lets expect until it was seen.
  std::optional<AxisValues> axis(const leat_variable& variable, unsigned d) const;

 private:
  struct Along {
    const leat_variable* variable;
    unsigned dimension;
    std::int64_t values;
  };
  struct Cells {
    std::int64_t count;
    const leat_variable* by;
    bool is_settled = false;
  };
  using Axis = std::pair<std::int32_t, unsigned>;  // of a mesh; x runs along the last dimension

  static Axis axis_of(const Along& one) {
    return {one.variable->mesh, one.variable->dims - 1 - one.dimension};
  }
  void measure(const Along& one);
  void say(const Along& one, const Cells& cells);

  const leat_run& run_;
  Host host_;
  std::map<Axis, Cells> cells_;
  std::set<std::uint32_t> seen_;  // variables
  std::map<std::pair<const leat_variable*, unsigned>, std::uint32_t>
      places_;  // enum leat_centering
};

}  // namespace leat::hdf5
