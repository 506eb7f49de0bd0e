// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/block_plan.hpp"

#include <limits>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/arrays/block_check.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/mesh_axes.hpp"

namespace leat::hdf5 {
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
