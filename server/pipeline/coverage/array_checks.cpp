// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/coverage/array_checks.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "lib/os/crc32c.hpp"
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

// Blocks that lie on each other have other values there, or nobody knows.
bool any_differ(const model::Layout& layout, std::span<const Block> blocks);

bool is_same_box(const Block& a, const Block& b) {
  return a.extent == b.extent && a.position == b.position;
}

// Of blocks that are the same values of the same part, as coordinates that all ranks write whole: CRC-32C of those.
std::optional<std::uint32_t> alike_in(const model::Layout& layout, std::span<const Block> blocks) {
  const auto has_ghosts = [](const model::Dimension& each) {
    return each.ghost_low + each.ghost_high > 0;
  };
  const Block& first = blocks[0];
  const bool are_same =
      std::none_of(layout.dimensions.begin(), layout.dimensions.end(), has_ghosts) &&
      std::all_of(blocks.begin(), blocks.end(), [&first](const Block& each) {
        return each.data && is_same_box(each, first) && each.bytes == first.bytes &&
               std::memcmp(each.data, first.data, first.bytes) == 0;
      });
  if (!are_same) return std::nullopt;
  return os::crc32c(first.data, first.bytes);
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
      judge(variable, own, iteration.number, std::nullopt, &findings);
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
  const std::optional<std::uint32_t> alike = alike_in(layout_of(variable), blocks);
  if (state.once.empty()) {
    state.once_alike = alike;
    state.once_differs = !alike && any_differ(layout_of(variable), blocks);
  } else {
    state.once_differs =
        !alike || state.once_alike != alike || !is_same_box(blocks[0], state.once.begin()->second);
  }
  for (const Block& block : blocks) state.once[{block.rank, block.block}] = block;
  if (state.once_since < 0) state.once_since = iteration;
}

void HoleCheck::judge_once(std::int64_t before, std::vector<Finding>* findings) {
  for (std::uint32_t v = 0; v < variables_.size(); ++v) {
    Variable& state = variables_[v];
    if (state.once_since < 0 || state.once_since >= before) continue;
    std::vector<Block> all;
    for (const auto& [key, block] : state.once) all.push_back(block);
    judge(v, all, std::exchange(state.once_since, -1), state.once_differs, findings);
  }
}

// What all ranks write alike, as coordinates, is lost to nobody.
void HoleCheck::judge(std::uint32_t variable, Blocks blocks, std::int64_t iteration,
                      std::optional<bool> differs, std::vector<Finding>* findings) {
  Variable& state = variables_[variable];
  const std::uint64_t hash = hash_of(layout_of(variable), blocks);
  if (!state.coverage || state.boxes != hash) {
    state.boxes = hash;
    state.coverage = coverage_of(layout_of(variable), blocks, hash);
  }
  const bool is_said = !state.told_covered.empty();
  if (!state.coverage->covered.empty() &&
      (is_said || (differs ? *differs : any_differ(layout_of(variable), blocks)))) {
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

namespace {

BlockProblem problem_of(const Block& block, std::string what) {
  return {block.client, block.rank, block.variable, block.block, std::move(what), block.bytes};
}

}  // namespace

std::vector<ChangedBlock> changed_blocks(const Iteration& iteration) {
  std::vector<ChangedBlock> changed;
  for (const Block& block : iteration.blocks) {
    if (!block.checksum) continue;
    const std::uint32_t now = os::crc32c(block.data, block.bytes);
    if (now != *block.checksum) changed.push_back({block, now});
  }
  return changed;
}

std::vector<BlockProblem> take_out_changed(Iteration* iteration) {
  std::vector<BlockProblem> problems;
  for (const ChangedBlock& changed : changed_blocks(*iteration)) {
    problems.push_back(problem_of(
        changed.block,
        fmt::format("block {} had CRC-32C {:08x} when it was handed over, its bytes now have "
                    "{:08x}: something has written into them; no store gets it",
                    changed.block.block, *changed.block.checksum, changed.now)));
    std::erase_if(iteration->blocks,
                  [&](const Block& block) { return block.data == changed.block.data; });
    iteration->complete = false;
  }
  return problems;
}

BlockProblem changed_while_stored(const ChangedBlock& changed,
                                  const std::vector<std::string>& stores) {
  return problem_of(
      changed.block,
      fmt::format("block {} is stored ({}), but its bytes changed while it was being stored: "
                  "CRC-32C {:08x} before, {:08x} now; what the stores have of it may be wrong",
                  changed.block.block, fmt::join(stores, ", "), *changed.block.checksum,
                  changed.now));
}

namespace {

using Blocks = std::span<const Block>;
using Cell = std::array<std::int64_t, kMaxDims>;

const char* at(const model::Layout& layout, const Block& block, const Cell& cell) noexcept {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < layout.dimensions.size(); ++d)
    offset =
        offset * block.extent[d] + cell[d] - block.position[d] + layout.dimensions[d].ghost_low;
  return static_cast<const char*>(block.data) +
         offset * static_cast<std::int64_t>(scalar_bytes(layout.type));
}

// The first cell of this line, along the last dimension, or none.
bool line_differs(const model::Layout& layout, const Block& a, const Block& b, const Box& both,
                  Cell* cell) noexcept {
  const std::size_t bytes = scalar_bytes(layout.type);
  const std::size_t last = layout.dimensions.size() - 1;
  const auto count = static_cast<std::size_t>(both.high[last] - both.low[last]);
  (*cell)[last] = both.low[last];
  const char *of_a = at(layout, a, *cell), *of_b = at(layout, b, *cell);
  if (std::memcmp(of_a, of_b, count * bytes) == 0) return false;
  while (std::memcmp(of_a, of_b, bytes) == 0) {
    of_a += bytes;
    of_b += bytes;
    ++(*cell)[last];
  }
  return true;
}

// To the next line; false after the last one.
bool advance(std::size_t last, const Box& both, Cell* cell) noexcept {
  for (std::size_t d = last; d-- > 0;) {
    if (++(*cell)[d] < both.high[d]) return true;
    (*cell)[d] = both.low[d];
  }
  return false;
}

std::optional<Cell> first_difference(const model::Layout& layout, const Block& a, const Block& b,
                                     const Box& both) noexcept {
  const std::size_t dims = layout.dimensions.size();
  Cell cell = both.low;
  if (dims == 0)
    return std::memcmp(a.data, b.data, scalar_bytes(layout.type)) ? std::optional(cell)
                                                                  : std::nullopt;
  do {
    if (line_differs(layout, a, b, both, &cell)) return cell;
  } while (advance(dims - 1, both, &cell));
  return std::nullopt;
}

std::string describe(const model::Variable& variable, const model::Layout& layout, const Block& a,
                     const Block& b, const Box& both, const Cell& cell) {
  Box one{cell, cell};
  for (std::size_t d = 0; d < layout.dimensions.size(); ++d) ++one.high[d];
  return fmt::format(
      "\"{}\" ({}:{}): block {} of rank {} and block {} of rank {} both have {} and differ there, "
      "first at {}; stored is that of the higher rank, of one rank that of the higher block. Check "
      "the positions, and that ghosts=\"...\" of layout \"{}\" names all layers that ranks share",
      variable.name, variable.where.file, variable.where.line, a.block, a.rank, b.block, b.rank,
      text_of(layout, both), text_of(layout, one), layout.name);
}

std::optional<std::string> overlap_of(const model::Variable& variable, const model::Layout& layout,
                                      Blocks blocks) {
  const auto dims = static_cast<unsigned>(layout.dimensions.size());
  std::vector<std::pair<Box, const Block*>> sorted;
  for (const Block& block : blocks) sorted.emplace_back(own_box(layout, block), &block);
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& [box, block] = sorted[i];
    for (std::size_t j = i + 1; j < sorted.size(); ++j) {
      if (dims > 0 && sorted[j].first.low[0] >= box.high[0]) break;
      const Box both = common(box, sorted[j].first, dims);
      if (is_empty(both, dims)) continue;
      const auto cell = first_difference(layout, *block, *sorted[j].second, both);
      if (cell) return describe(variable, layout, *block, *sorted[j].second, both, *cell);
    }
  }
  return std::nullopt;
}

bool any_differ(const model::Layout& layout, Blocks blocks) {
  const bool all_there = std::all_of(blocks.begin(), blocks.end(),
                                     [](const Block& each) { return each.data != nullptr; });
  return !all_there || overlap_of(model::Variable(), layout, blocks).has_value();
}

}  // namespace

std::vector<Finding> differing_overlaps(const model::Model& model, const Iteration& iteration) {
  std::vector<Finding> findings;
  const std::vector<Block>& blocks = iteration.blocks;  // by variable
  for (std::size_t i = 0, next = 0; i < blocks.size(); i = next) {
    const std::uint32_t number = blocks[i].variable;
    while (next < blocks.size() && blocks[next].variable == number) ++next;
    const model::Variable& variable = model.variables[number];
    const model::Layout& layout = model.layouts[variable.layout];
    if (!layout.has_global) continue;
    const auto text = overlap_of(variable, layout, Blocks(blocks).subspan(i, next - i));
    if (text) findings.push_back({"overlap", number, iteration.number, *text});
  }
  return findings;
}

ArrayChecks::ArrayChecks(const model::Model& model, const Wanted& wanted)
    : model_(model),
      overlaps_(wanted.overlaps),
      holes_(model, wanted.from_start, wanted.holes, wanted.kept_apart) {}

std::vector<Finding> ArrayChecks::check(const Iteration& iteration) {
  std::vector<Finding> findings;
  if (iteration.complete) findings = holes_.check(iteration);
  if (!overlaps_) return findings;
  for (Finding& overlap : differing_overlaps(model_, iteration)) {
    // What differs, differs elsewhere in the next iteration.
    overlap.text = told_overlaps_.emplace(overlap.variable, overlap.text).first->second;
    findings.push_back(std::move(overlap));
  }
  return findings;
}

std::vector<Finding> ArrayChecks::finish() { return holes_.finish(); }

}  // namespace leat::server
