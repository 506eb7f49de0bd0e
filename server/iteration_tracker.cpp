// SPDX-License-Identifier: Apache-2.0
#include "server/iteration_tracker.hpp"

#include <algorithm>
#include <tuple>

namespace leat::server {
namespace {

auto order_of(const Block& block) { return std::tie(block.variable, block.rank, block.block); }

}  // namespace

std::optional<Block> IterationTracker::add_to(std::int64_t iteration, const Block& block) {
  if (is_dropped(iteration)) return block;
  // Kept sorted, so that a replaced block is found without a search over all.
  std::vector<Block>& blocks = open_[iteration];
  const auto place =
      std::lower_bound(blocks.begin(), blocks.end(), block,
                       [](const Block& a, const Block& b) { return order_of(a) < order_of(b); });
  if (place != blocks.end() && order_of(*place) == order_of(block)) {
    const Block replaced = *place;
    *place = block;
    return replaced;
  }
  blocks.insert(place, block);
  return std::nullopt;
}

void IterationTracker::ended(std::uint32_t client) {
  ++clients_[client].current;
  if (dropped_.empty()) return;
  std::int64_t least = INT64_MAX;
  for (const Client& each : clients_) {
    if (!each.gone) least = std::min(least, each.current);
  }
  dropped_.erase(dropped_.begin(), dropped_.lower_bound(least));
}

std::optional<std::vector<Block>> IterationTracker::drop(std::int64_t iteration) {
  if (!dropped_.insert(iteration).second) return std::nullopt;
  const auto found = open_.find(iteration);
  if (found == open_.end()) return std::vector<Block>{};
  std::vector<Block> blocks = std::move(found->second);
  open_.erase(found);
  return blocks;
}

void IterationTracker::gone(std::uint32_t client, bool died) {
  clients_[client].gone = true;
  clients_[client].died = died;
}

std::optional<Iteration> IterationTracker::take_complete() {
  if (open_.empty()) return std::nullopt;
  const auto first = open_.begin();
  Iteration iteration{first->first, true, {}, {}, {}};
  for (const Client& client : clients_) {
    if (client.current > iteration.number) continue;
    if (!client.gone) return std::nullopt;
    if (client.died) iteration.complete = false;
  }
  iteration.blocks = std::move(first->second);
  open_.erase(first);
  return iteration;
}

std::int64_t IterationTracker::oldest() const noexcept {
  return open_.empty() ? INT64_MAX : open_.begin()->first;
}

}  // namespace leat::server
