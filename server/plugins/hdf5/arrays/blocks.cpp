// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/blocks.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"

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

namespace {

// Variables on an amr mesh share its blocks; others of the same dimensions have the same ones, as a
// rule.
WantedBlocks described(const leat_run& run, std::uint32_t number) {
  const leat_variable& variable = *leat_variable_at(&run, number);
  const leat_mesh* amr = amr_mesh_of(run, variable);
  WantedBlocks wanted{number, "", {variable.time_varying != 0, amr}, {}};
  if (amr) {
    wanted.shape = std::string("amr ") + amr->name;
    return wanted;
  }
  for (unsigned d = 0; d < variable.dims; ++d)
    wanted.shape += std::string(variable.dimension[d].name) + ",";
  return wanted;
}

bool is_only_block(const BlockList& blocks) {
  return blocks.size() == 1 && blocks.front()->block == 0;
}

// One block in each iteration, which has no other dimension than its own, and always one size: of
// others only the tables of blocks tell how large each is.
bool stays_single(const Target& target, const leat_variable& variable, const BlockList& blocks) {
  const std::uint32_t number = blocks.front()->variable;
  if (target.blocks.of(number) || varies_in_shape(variable) || amr_mesh_of(target.run, variable))
    return false;
  const bool is_known = is_in(target.file, variable.name);
  const Shape extents = own_extents(variable, *blocks.front());
  const Shape* const first = target.blocks.single(number);
  // Coordinates of a dimension are as long as that.
  const bool is_like_it = first && (*first == extents || is_coordinate_variable(variable));
  if (is_known && !is_like_it) return false;
  if (target.run.ranks != 1 || !is_only_block(blocks)) return false;
  target.blocks.note_single(number, extents);
  return true;
}

}  // namespace

void begin_blocks(const Target& target, const std::vector<SoundBlocks>& sound, hsize_t row,
                  std::int64_t iteration, const std::vector<std::int64_t>& unsaid) {
  std::vector<WantedBlocks> all;
  for (const auto& [number, blocks, errors] : sound) {
    if (blocks.empty()) continue;
    const leat_variable& variable = *leat_variable_at(&target.run, number);
    if (variable.has_global || stays_single(target, variable, blocks)) continue;
    WantedBlocks wanted = described(target.run, number);
    // Larger numbers have no room in the tables.
    for (const leat_block* block : blocks) {
      if (block->block <= static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max()))
        wanted.entries.insert(entry_of(variable, *block));
    }
    all.push_back(std::move(wanted));
  }
  target.blocks.begin_row(row, iteration, all, unsaid);
}

void take_up_blocks(const Target& target, std::uint32_t variable, hsize_t rows) {
  const leat_variable& known = *leat_variable_at(&target.run, variable);
  if (known.has_global) return;
  const Id dataset = open_dataset(target.file, known.name);
  const std::string table = fixed_attribute(dataset, kBlockTable);
  if (!table.empty())
    return target.blocks.take_up(variable, described(target.run, variable), table, rows);
  const Shape extents = extents_of(dataset);
  target.blocks.note_single(variable, behind(extents, known.time_varying ? 1 : 0));
}

}  // namespace leat::hdf5
