// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/uniform_cells.hpp"

#include <algorithm>

namespace leat::hdf5 {

void UniformCells::look_at(const leat_iteration_data& data) {
  if (leat_run_mesh_count(&run_) == 0) return;
  std::vector<Along> fresh;
  for (const leat_block& block : Blocks(data)) {
    const leat_variable& variable = *leat_variable_at(&run_, block.variable);
    const leat_mesh* mesh = leat_variable_mesh(&run_, &variable);
    if (!mesh || mesh->kind != LEAT_MESH_UNIFORM || mesh->dims != variable.dims ||
        !variable.has_global || !block.has_position || !seen_.insert(block.variable).second)
      continue;
    for (unsigned d = 0; d < variable.dims; ++d) fresh.push_back({&variable, d, block.global[d]});
  }
  for (const Along& each : fresh) measure(each);
  for (const Along& each : fresh) {
    const Cells& cells = cells_.at(axis_of(each));
    std::uint32_t& place = places_[{each.variable, each.dimension}];
    place = each.values == cells.count       ? LEAT_ZONAL
            : each.values == cells.count + 1 ? LEAT_NODAL
                                             : LEAT_UNPLACED;
    if (place == LEAT_UNPLACED) say(each, cells);
  }
  for (auto& [axis, known] : cells_) known.is_settled = true;
}

// Of those that come together the shortest; who comes later changes nothing of what is in the file.
void UniformCells::measure(const Along& one) {
  const std::int64_t count =
      one.values - (centering_along(*one.variable, one.dimension) == LEAT_NODAL ? 1 : 0);
  const auto [known, is_first] = cells_.insert({axis_of(one), {count, one.variable}});
  if (is_first || known->second.is_settled || known->second.count <= count) return;
  known->second = {count, one.variable};
}

std::optional<AxisValues> UniformCells::axis(const leat_variable& variable, unsigned d) const {
  const auto known = places_.find({&variable, d});
  return uniform_axis(run_, variable, d,
                      known == places_.end() ? centering_along(variable, d) : known->second);
}

void UniformCells::say(const Along& one, const Cells& cells) {
  if (centering_along(*one.variable, one.dimension) == LEAT_UNPLACED) return;  // at the start
  host_.warn("variable \"" + std::string(one.variable->name) + "\" has " +
             std::to_string(one.values) + " values along \"" +
             one.variable->dimension[one.dimension].name + "\", and its mesh \"" +
             leat_variable_mesh(&run_, one.variable)->name + "\" has " +
             std::to_string(cells.count) + " cells there, as \"" + cells.by->name +
             "\" says: where they lie is not known, and they get no coordinate. A mesh of its own "
             "says it");
}

}  // namespace leat::hdf5
