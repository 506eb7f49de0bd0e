// SPDX-License-Identifier: Apache-2.0
#include "server/engine/mesh_watch.hpp"

#include <fmt/format.h>

#include <utility>

namespace leat::server {
namespace {

std::string in_words(const model::MeshPlace& place) {
  return fmt::format("origin ({:.10g}), spacing ({:.10g})", fmt::join(place.origin, ", "),
                     fmt::join(place.spacing, ", "));
}

}  // namespace

void MeshWatch::look_at(std::int64_t iteration, const std::vector<ParameterValue>& values) {
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const model::Mesh& mesh = run_.model.meshes[i];
    if (model::is_placed_by_parameters(mesh))
      look_at(mesh, &seen_[i], iteration, model::place_of(run_.model, mesh, values));
  }
}

void MeshWatch::look_at(const model::Mesh& mesh, Seen* seen, std::int64_t iteration,
                        model::MeshPlace place) {
  const std::string whose = fmt::format("{}:{}:{}: mesh \"{}\"", mesh.where.file, mesh.where.line,
                                        mesh.where.column, mesh.name);
  if (!place.problem.empty()) {
    if (std::exchange(seen->problem, place.problem) == place.problem) return;
    run_.log->error(
        "{}: in iteration {} nobody knows where it lies: {}. What is on it is stored, without "
        "coordinates. Let each rank set the "
        "parameters before the end of its first iteration, by leat_set_double or leat_set_int",
        whose, iteration, place.problem);
    return;
  }
  if (seen->iteration < 0) {
    seen->first = std::move(place);
    seen->iteration = iteration;
    return;
  }
  if (place == seen->first || std::exchange(seen->has_moved, true)) return;
  run_.log->error(
      "{}: it lay at {} in iteration {}, and lies at {} in iteration {}: a file has one place of a "
      "uniform mesh and keeps the first; "
      "scripts have that of each iteration. Write the coordinates of a mesh that moves as "
      "variables, type=\"curvilinear\"",
      whose, in_words(seen->first), seen->iteration, in_words(place), iteration);
}

}  // namespace leat::server
