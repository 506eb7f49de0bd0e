// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/coverage/box_text.hpp"

#include <algorithm>
#include <map>

#include "server/session/rank_sets.hpp"

namespace leat::server {
namespace {

constexpr std::size_t kMostListed = 4;

std::string more(std::size_t count, const char* of_what) {
  if (count <= kMostListed) return "";
  return ", and " + std::to_string(count - kMostListed) + " more" + of_what;
}

}  // namespace

Box own_box(const model::Layout& layout, const Block& block) noexcept {
  Box box;
  for (std::size_t d = 0; d < layout.dimensions.size(); ++d) {
    const model::Dimension& dimension = layout.dimensions[d];
    const std::int64_t own = block.extent[d] - dimension.ghost_low - dimension.ghost_high;
    box.low[d] = block.position[d];
    box.high[d] = block.position[d] + std::max<std::int64_t>(own, 0);
  }
  return box;
}

Box whole_box(const model::Layout& layout, const Block& block) noexcept {
  Box box;
  std::copy_n(block.global.begin(), layout.dimensions.size(), box.high.begin());
  return box;
}

std::string text_of(const model::Layout& layout, const Box& box) {
  const bool fortran = layout.order == model::Order::fortran;
  const std::size_t dims = layout.dimensions.size();
  std::string text = "(";
  for (std::size_t i = 0; i < dims; ++i) {
    const std::size_t d = fortran ? dims - 1 - i : i;
    text += (i ? ", " : "") + layout.dimensions[d].name + "=" +
            std::to_string(box.low[d] + (fortran ? 1 : 0)) + ":" + std::to_string(box.high[d]);
  }
  return text + ")";
}

std::string text_of(const model::Layout& layout, const std::vector<Box>& boxes) {
  std::string text;
  for (std::size_t i = 0; i < boxes.size() && i < kMostListed; ++i)
    text += (i ? ", " : "") + text_of(layout, boxes[i]);
  return text + more(boxes.size(), "");
}

std::string text_of_writers(const model::Layout& layout, const std::vector<Block>& blocks) {
  std::map<Box, Ranks> writers;
  for (const Block& block : blocks) {
    Ranks& ranks = writers[own_box(layout, block)];
    ranks = united(ranks, {{block.rank, block.rank}});
  }
  std::vector<std::pair<Ranks, Box>> by_rank;
  for (const auto& [box, ranks] : writers) by_rank.emplace_back(ranks, box);
  std::sort(by_rank.begin(), by_rank.end());
  std::string text;
  for (std::size_t i = 0; i < by_rank.size() && i < kMostListed; ++i) {
    const auto& [ranks, box] = by_rank[i];
    const bool one = ranks.size() == 1 && ranks[0].first == ranks[0].second;
    text += std::string(i ? ", " : "") + (one ? "rank " : "ranks ") + text_of(ranks) + " " +
            text_of(layout, box);
  }
  return text + more(by_rank.size(), "");
}

}  // namespace leat::server
