// SPDX-License-Identifier: Apache-2.0
// Whether arrays on a uniform mesh are as long as the XML let expect: a simulation may set sizes
// that make others of what were cells and nodes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/base/shape.hpp"

namespace leat::hdf5 {

class UniformCells {
 public:
  UniformCells(const leat_run& run, Host host) : run_(run), host_(host) {}

  /// Before the iteration is written: what its arrays say of the cells of their meshes. The first one
  /// holds; who does not fit to it has no known place, which the log says once.
  void look_at(const leat_iteration_data& data);
  /// Whether the places of the values along dimension `d` are those that uniform_axis() tells.
  bool fits(const leat_variable& variable, unsigned d) const {
    return misfits_.count({&variable, d}) == 0;
  }

 private:
  struct Cells {
    std::int64_t count;
    const leat_variable* by;
  };

  void look_at(const leat_variable& variable, const leat_mesh& mesh, const leat_block& block);
  void say(const leat_variable& variable, unsigned d, std::int64_t values, const leat_mesh& mesh,
           const Cells& cells);

  const leat_run& run_;
  Host host_;
  std::map<std::pair<std::int32_t, unsigned>, Cells> cells_;  // by mesh and axis
  std::set<std::uint32_t> seen_;                              // variables
  std::set<std::pair<const leat_variable*, unsigned>> misfits_;
};

}  // namespace leat::hdf5
