// SPDX-License-Identifier: Apache-2.0
#include "client-api/mesh_calls.hpp"

#include <algorithm>
#include <string>

#include "lib/base/text.hpp"

namespace leat::client {
namespace {

Error refused(std::string message) { return {Status::ERROR_ARGUMENT, std::move(message)}; }

}  // namespace

MeshCalls::MeshCalls(const shm::Catalogue& catalogue, VariableTable& variables, Failures& failures)
    : catalogue_(catalogue), variables_(variables), failures_(failures) {
  const auto records = catalogue_.variables();
  for (const shm::MeshRecord& mesh : catalogue_.meshes()) {
    if (mesh.is_amr == 0) continue;
    meshes_.push_back(
        {catalogue_.text(mesh.name), catalogue_.text(mesh.where), mesh.dims, mesh.levels, {}});
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      if (catalogue_.amr_mesh_of(records[i]) == &mesh) meshes_.back().variables.push_back(i);
    }
  }
}

const MeshCalls::AmrMesh* MeshCalls::find(std::string_view name) const noexcept {
  const auto found = std::find_if(meshes_.begin(), meshes_.end(),
                                  [name](const AmrMesh& mesh) { return mesh.name == name; });
  return found == meshes_.end() ? nullptr : &*found;
}

Error MeshCalls::not_found(std::string_view name) const {
  std::vector<std::string> names;
  for (const shm::MeshRecord& mesh : catalogue_.meshes()) {
    names.emplace_back(catalogue_.text(mesh.name));
    if (names.back() == name)
      return refused("mesh \"" + names.back() + "\" (" + std::string(catalogue_.text(mesh.where)) +
                     ") has no levels: those of type=\"amr\" have");
  }
  return {Status::ERROR_UNKNOWN_NAME, variables_.config() + " declares no mesh \"" +
                                          std::string(name) + "\"" + did_you_mean(name, names)};
}

Error MeshCalls::refuses(const AmrMesh& mesh, std::uint32_t block, std::int32_t level,
                         const NumberList& position) const {
  const std::string title =
      "mesh \"" + std::string(mesh.name) + "\" (" + std::string(mesh.where) + ")";
  if (block > kMostBlock)
    return refused("block " + std::to_string(block) + ": numbers of blocks end at " +
                   std::to_string(kMostBlock));
  const std::int32_t most = mesh.levels > 0 ? mesh.levels : kMaxLevels;
  if (level < 0 || level >= most)
    return refused(title + " has no level " + std::to_string(level) + ": levels count from 0 to " +
                   std::to_string(most - 1) +
                   (mesh.levels > 0 ? ", as levels=\"" + std::to_string(most) + "\" says" : ""));
  if (position.count != NumberList::kAsMany && position.count != mesh.dims)
    return refused(title + " has " + std::to_string(mesh.dims) +
                   (mesh.dims == 1 ? " dimension" : " dimensions") + ", and the position has " +
                   std::to_string(position.count));
  if (!position.numbers) return refused("the numbers are NULL");
  const auto is_far = [](std::int64_t at) { return at < -shm::kFurthest || at > shm::kFurthest; };
  if (std::any_of(position.numbers, position.numbers + mesh.dims, is_far))
    return refused(title + ": the position has a number beyond 2^62");
  return {Status::OK, ""};
}

Status MeshCalls::set_level(const Call& call, const char* name, std::uint32_t block,
                            std::int32_t level, const NumberList& position) {
  if (!name) return failures_.complain(call, refused("the mesh's name is NULL"), "");
  const AmrMesh* const mesh = find(name);
  if (!mesh) return failures_.complain(call, not_found(name), name);
  const Error why = refuses(*mesh, block, level, position);
  if (why.status != Status::OK) return failures_.complain(call, why, name);
  std::array<std::int64_t, kMaxDims> at{};
  std::copy_n(position.numbers, mesh->dims, at.begin());
  if (position.column_major) std::reverse(at.begin(), at.begin() + mesh->dims);
  for (const std::uint32_t variable : mesh->variables)
    variables_.set_level(variable, block, level, at);
  return Status::OK;
}

}  // namespace leat::client
