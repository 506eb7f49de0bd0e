// SPDX-License-Identifier: Apache-2.0
// Looks whether what was written fits its mesh; `leat check` can say so only of what the XML knows.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

/// Data are stored whatever it finds: warnings go to the log, each once.
class MeshWatch {
 public:
  MeshWatch(const leat_run& run, Host host) : run_(run), host_(host) {}

  /// Remembers shapes at their first time, and compares those that belong together.
  void look_at(const leat_iteration_data& data);
  /// After the last iteration: coordinates that never came.
  void close();

 private:
  bool remember(const leat_block& block);
  void compare(std::uint32_t variable);
  void compare(const leat_mesh& mesh, std::uint32_t variable, std::uint32_t coordinate);
  void missing(const leat_mesh& mesh, std::uint32_t coordinate);
  std::string name_of(std::uint32_t variable) const;

  const leat_run& run_;
  Host host_;
  std::map<std::uint32_t, Shape> shapes_;                       // of whole arrays, by variable
  std::set<std::pair<std::uint32_t, std::uint32_t>> compared_;  // variable, coordinate
};

}  // namespace leat::hdf5
