// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/block_check.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {
namespace {

// More have no room in the places of their cells.
constexpr std::int32_t kMostLevels = 64;

void check_size(const leat_variable& variable, const leat_block& block) {
  const std::string extents = "its extents " + listed(std::span(block.extent, variable.dims));
  std::uint64_t bytes = H5Tget_size(type_of(variable.type));
  for (unsigned d = 0; d < variable.dims; ++d) {
    if (block.extent[d] < 0) throw std::runtime_error(extents + " are negative");
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(block.extent[d]), &bytes))
      throw std::runtime_error(extents + " are more than there can be");
  }
  if (bytes == block.bytes) return;
  throw std::runtime_error(extents + " make " + std::to_string(bytes) + " bytes, and it has " +
                           std::to_string(block.bytes));
}

void check_place(const leat_variable& variable, const leat_block& block) {
  if (!block.has_position) throw std::runtime_error("it has no place in the global array");
  for (unsigned d = 0; d < variable.dims; ++d) {
    const leat_dimension& dimension = variable.dimension[d];
    if (block.extent[d] > 0 && block.extent[d] < dimension.ghost_low + dimension.ghost_high)
      throw std::runtime_error("it is smaller than its ghosts in dimension \"" +
                               std::string(dimension.name) + "\"");
    const std::int64_t own = own_cells(variable, block, d), at = block.position[d];
    if (block.global[d] < 0)
      throw std::runtime_error("the global extents " +
                               listed(std::span(block.global, variable.dims)) + " are negative");
    if (own == 0 || (at >= 0 && own <= block.global[d] && at <= block.global[d] - own)) continue;
    throw std::runtime_error("from position " + std::to_string(at) + ", " + std::to_string(own) +
                             " cells in dimension \"" + dimension.name +
                             "\", it does not lie inside the global array " +
                             listed(std::span(block.global, variable.dims)));
  }
}

void check_level(const leat_mesh& mesh, const leat_variable& variable, const leat_block& block) {
  if (mesh.dims != variable.dims)
    throw std::runtime_error("its mesh \"" + std::string(mesh.name) + "\" has " +
                             std::to_string(mesh.dims) + " axes");
  if (!leat_block_has_level(&block))
    throw std::runtime_error("it has no level of the mesh \"" + std::string(mesh.name) +
                             "\": leat_set_level() says which");
  if (block.level < 0 || block.level >= kMostLevels)
    throw std::runtime_error("its level is " + std::to_string(block.level) +
                             ", and there are 0 to " + std::to_string(kMostLevels - 1));
}

}  // namespace

std::int64_t own_cells(const leat_variable& variable, const leat_block& block, unsigned d) {
  const leat_dimension& dimension = variable.dimension[d];
  return std::max<std::int64_t>(0, block.extent[d] - dimension.ghost_low - dimension.ghost_high);
}

Shape own_extents(const leat_variable& variable, const leat_block& block) {
  Shape extents;
  for (unsigned d = 0; d < variable.dims; ++d)
    extents.push_back(static_cast<hsize_t>(own_cells(variable, block, d)));
  return extents;
}

MemoryPart own_part(const leat_variable& variable, const leat_block& block) {
  MemoryPart part;
  part.count = own_extents(variable, block);
  for (unsigned d = 0; d < variable.dims; ++d) {
    part.extents.push_back(static_cast<hsize_t>(block.extent[d]));
    part.start.push_back(static_cast<hsize_t>(variable.dimension[d].ghost_low));
  }
  return part;
}

void check_block(const leat_variable& variable, const leat_block& block, const leat_mesh* amr) {
  check_size(variable, block);
  if (variable.has_global) check_place(variable, block);
  if (amr) check_level(*amr, variable, block);
}

}  // namespace leat::hdf5
