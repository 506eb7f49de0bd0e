// SPDX-License-Identifier: Apache-2.0
// Looks at what parameters say of where meshes lie, iteration by iteration, and says in the log what cannot be. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/mesh_place.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class MeshWatch {
 public:
  explicit MeshWatch(const Run& run) : run_(run), seen_(run.model.meshes.size()) {}
  void look_at(std::int64_t iteration, const std::vector<ParameterValue>& values);

 private:
  struct Seen {
    model::MeshPlace first;  ///< that there was
    std::int64_t iteration = -1;
    bool has_moved = false;
    std::string problem;  ///< that was said last
  };

  void look_at(const model::Mesh& mesh, Seen* seen, std::int64_t iteration, model::MeshPlace place);

  const Run& run_;
  std::vector<Seen> seen_;  // by mesh
};

}  // namespace leat::server
