// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/coverage/hole_check.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "server/pipeline/coverage/boxes.hpp"

namespace leat::server {
namespace {

// Sets of boxes whose free cells are remembered.
constexpr std::size_t kMostKnown = 1024;

std::uint64_t mixed(std::uint64_t hash, std::int64_t value) noexcept {
  hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15U;
  return hash ^ hash >> 29;
}

std::uint64_t hash_of_boxes(const std::vector<Box>& boxes, double cells) noexcept {
  std::uint64_t hash = mixed(1, static_cast<std::int64_t>(std::min(cells, 1e18)));
  for (const Box& box : boxes) {
    for (std::size_t d = 0; d < kMaxDims; ++d) hash = mixed(mixed(hash, box.low[d]), box.high[d]);
  }
  return hash;
}

std::string place_of(const std::string& name, const model::SourceLocation& where) {
  return fmt::format("\"{}\" ({}:{})", name, where.file, where.line);
}

}  // namespace

HoleCheck::HoleCheck(const model::Model& model, bool from_start, bool all_ranks,
                     const std::set<std::uint32_t>& kept_apart)
    : model_(model), all_ranks_(all_ranks) {
  for (const model::Variable& variable : model.variables) {
    const bool is_apart = kept_apart.count(static_cast<std::uint32_t>(variables_.size())) > 0;
    const model::Layout& layout = model.layouts[variable.layout];
    Variable& state = variables_.emplace_back();
    state.checked = layout.has_global && (variable.time_varying || from_start) && !is_apart;
    state.may_have_holes = all_ranks && !layout.partial;
  }
}

std::vector<Finding> HoleCheck::check(const Iteration& iteration) {
  std::vector<Finding> findings;
  const std::vector<Block>& blocks = iteration.blocks;  // by variable
  for (std::size_t i = 0, next = 0; i < blocks.size(); i = next) {
    const std::uint32_t variable = blocks[i].variable;
    while (next < blocks.size() && blocks[next].variable == variable) ++next;
    if (!variables_[variable].checked) continue;
    const Blocks own = Blocks(blocks).subspan(i, next - i);
    if (model_.variables[variable].time_varying) {
      judge(variable, own, iteration.number, &findings);
    } else {
      note_once(variable, own, iteration.number);
    }
  }
  judge_once(iteration.number, &findings);
  return findings;
}

std::vector<Finding> HoleCheck::finish() {
  std::vector<Finding> findings;
  judge_once(INT64_MAX, &findings);
  return findings;
}

void HoleCheck::note_once(std::uint32_t variable, Blocks blocks, std::int64_t iteration) {
  Variable& state = variables_[variable];
  for (const Block& block : blocks) state.once[{block.rank, block.block}] = block;
  if (state.once_since < 0) state.once_since = iteration;
}

void HoleCheck::judge_once(std::int64_t before, std::vector<Finding>* findings) {
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    Variable& state = variables_[v];
    if (state.once_since < 0 || state.once_since >= before) continue;
    std::vector<Block> all;
    for (const auto& [key, block] : state.once) all.push_back(block);
    judge(v, all, std::exchange(state.once_since, -1), findings);
  }
}

void HoleCheck::judge(std::uint32_t variable, Blocks blocks, std::int64_t iteration,
                      std::vector<Finding>* findings) {
  Variable& state = variables_[variable];
  const std::uint64_t hash = hash_of(layout_of(variable), blocks);
  if (!state.coverage || state.boxes != hash) {
    state.boxes = hash;
    state.coverage = coverage_of(layout_of(variable), blocks, hash);
  }
  if (!state.coverage->covered.empty()) {
    if (state.told_covered.empty()) state.told_covered = describe_covered(variable, blocks);
    findings->push_back({"covered", variable, iteration, state.told_covered});
  }
  const FreeCells& free = state.coverage->free;
  if (state.may_have_holes && !free.boxes.empty() && free.known)
    findings->push_back({"holes", variable, iteration, text_of_holes(variable, blocks)});
}

std::uint64_t HoleCheck::hash_of(const model::Layout& layout, Blocks blocks) const noexcept {
  const std::size_t dims = layout.dimensions.size();
  std::uint64_t hash = mixed(dims, static_cast<std::int64_t>(blocks.size()));
  for (std::size_t d = 0; d < dims; ++d) hash = mixed(hash, blocks[0].global[d]);
  for (const Block& block : blocks) {
    for (std::size_t d = 0; d < dims; ++d) {
      const model::Dimension& dimension = layout.dimensions[d];
      hash = mixed(hash, block.position[d]);
      hash = mixed(hash, block.extent[d] - dimension.ghost_low - dimension.ghost_high);
    }
  }
  return hash;
}

std::shared_ptr<const HoleCheck::Coverage> HoleCheck::coverage_of(const model::Layout& layout,
                                                                  Blocks blocks,
                                                                  std::uint64_t hash) {
  if (const auto known = known_.find(hash); known != known_.end()) return known->second;
  std::vector<Box> boxes;
  for (const Block& block : blocks) boxes.push_back(own_box(layout, block));
  const auto dims = static_cast<unsigned>(layout.dimensions.size());
  Coverage found;
  found.covered = covered_boxes(boxes, dims);
  if (all_ranks_) found.free = free_cells(whole_box(layout, blocks[0]), std::move(boxes), dims);
  auto coverage = std::make_shared<const Coverage>(std::move(found));
  if (known_.size() >= kMostKnown) known_.clear();
  known_.emplace(hash, coverage);
  return coverage;
}

const std::string& HoleCheck::text_of_holes(std::uint32_t variable, Blocks blocks) {
  Variable& state = variables_[variable];
  const std::uint64_t hash = hash_of_boxes(state.coverage->free.boxes, state.coverage->free.cells);
  const auto known = state.told.find(hash);
  if (known != state.told.end()) return known->second;
  if (state.told.size() >= kMostTold) return state.told.rbegin()->second;
  return state.told.emplace(hash, describe(variable, blocks)).first->second;
}

std::string HoleCheck::describe_covered(std::uint32_t variable, Blocks blocks) const {
  const model::Layout& layout = layout_of(variable);
  const std::vector<std::size_t>& covered = variables_[variable].coverage->covered;
  std::vector<Block> lost, others;
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    const bool is_lost = std::binary_search(covered.begin(), covered.end(), number);
    (is_lost ? lost : others).push_back(blocks[number]);
  }
  return fmt::format(
      "{}: what {} wrote is not stored, since ranks or blocks with higher numbers wrote the same "
      "cells of the global array: {}. Call leat_set_position to say where each block lies",
      place_of(model_.variables[variable].name, model_.variables[variable].where),
      text_of_writers(layout, lost), text_of_writers(layout, others));
}

std::string HoleCheck::describe(std::uint32_t variable, Blocks blocks) const {
  const model::Layout& layout = layout_of(variable);
  const FreeCells& free = variables_[variable].coverage->free;
  const double all =
      cells_of(whole_box(layout, blocks[0]), static_cast<unsigned>(layout.dimensions.size()));
  return fmt::format(
      "{} has holes: {:.0f} of the {:.0f} cells of its global array ({:.2g} %) are written by no "
      "rank and hold fill values: {}; written by {}. Check the positions and the global extents; "
      "when holes are meant, give layout {} coverage=\"partial\"",
      place_of(model_.variables[variable].name, model_.variables[variable].where), free.cells, all,
      100 * free.cells / all, text_of(layout, free.boxes),
      text_of_writers(layout, {blocks.begin(), blocks.end()}), place_of(layout.name, layout.where));
}

}  // namespace leat::server
