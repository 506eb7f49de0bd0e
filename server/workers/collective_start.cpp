// SPDX-License-Identifier: Apache-2.0
#include "server/workers/collective_start.hpp"

#include <algorithm>

#include "lib/platform/clock.hpp"
#include "lib/platform/futex.hpp"
#include "server/workers/rank_state.hpp"

namespace leat::server {
namespace {

// What else lets it start is seen after that.
constexpr std::int64_t kLookForWaitersNs = 10'000'000;

// How many collectives the rank had come out of when it ended the iteration.
std::optional<std::uint32_t> count_at_end(const shm::ClientLane& lane,
                                          std::int64_t iteration) noexcept {
  const shm::EndRecord& record =
      lane.ended[static_cast<std::uint64_t>(iteration) % shm::kEndRecords];
  if (record.iteration.load(std::memory_order_seq_cst) != iteration + 1) return std::nullopt;
  const std::uint32_t count = record.collectives.load(std::memory_order_seq_cst);
  if (record.iteration.load(std::memory_order_seq_cst) != iteration + 1) return std::nullopt;
  return count;
}

}  // namespace

// Numbers wrap around; their differences are right.
std::optional<CollectiveStart::Goal> CollectiveStart::goal_of(
    std::int64_t iteration) const noexcept {
  for (std::uint32_t i = 0; i < segment_.header().client_count; ++i) {
    const shm::ClientLane& lane = *segment_.client(i).client;
    const std::uint32_t now = lane.collectives.load(std::memory_order_seq_cst);
    if (now == 0 || !is_attached(segment_.client(i))) continue;
    const std::optional<std::uint32_t> end = count_at_end(lane, iteration);
    if (!end) return Goal{&lane, now + 1, false};  // it is too long ago, or was before the first
    const std::uint32_t missed = (now - *end) / every_;
    return Goal{&lane, *end + (missed + 1) * every_, missed == 0};
  }
  return std::nullopt;
}

// Then it is not the analysis that keeps it from the collective.
bool CollectiveStart::is_anybody_held_up() const noexcept {
  for (std::uint32_t i = 0; i < segment_.header().client_count; ++i)
    if (!is_attached(segment_.client(i)) || waits_for_leat(segment_.client(i))) return true;
  return false;
}

CollectiveStart::Start CollectiveStart::await(std::int64_t iteration) const noexcept {
  const std::int64_t since_ns = platform::now_ns();
  const auto start = [since_ns](const char* how, std::int64_t exit_ns = 0) {
    const std::int64_t now_ns = platform::now_ns();
    return Start{how, now_ns, now_ns - since_ns, exit_ns > 0 ? now_ns - exit_ns : 0};
  };
  const std::optional<Goal> goal = goal_of(iteration);
  if (!goal) return start("at once");
  while (!is_anybody_held_up()) {
    const std::uint32_t now = goal->lane->collectives.load(std::memory_order_seq_cst);
    if (static_cast<std::int32_t>(now - goal->number) >= 0)
      return start(goal->is_first ? "first" : "later",
                   goal->lane->collective_ns.load(std::memory_order_relaxed));
    const std::int64_t left_ns = since_ns + defer_max_ns_ - platform::now_ns();
    if (left_ns <= 0) return start("deferred");
    platform::futex_wait(goal->lane->collectives, now, std::min(left_ns, kLookForWaitersNs));
  }
  return start("at once");
}

}  // namespace leat::server
