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

BlockProblem problem_of(const Block& block, std::string what) {
  return {block.client, block.rank, block.variable, block.block, std::move(what), block.bytes};
}

}  // namespace

std::vector<ChangedBlock> changed_blocks(const Iteration& iteration) {
  std::vector<ChangedBlock> changed;
  for (const Block& block : iteration.blocks) {
    if (!block.checksum) continue;
    const std::uint32_t now = platform::crc32c(block.data, block.bytes);
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
