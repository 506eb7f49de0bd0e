// SPDX-License-Identifier: Apache-2.0
#include "server/workers/coordination.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "lib/base/seconds.hpp"
#include "lib/base/words.hpp"
#include "server/workers/words.hpp"

namespace leat::server {
namespace {

double seconds_in(const Frame& answer, const char* what) {
  return static_cast<double>(number_in(answer, what)) / 1e9;
}

}  // namespace

void Coordination::take(const Frame& answer) {
  const std::string start = text_in(answer.head, "start");
  const std::lock_guard<std::mutex> lock(mutex_);
  use_.used_seconds += seconds_in(answer, "work_ns");
  if (start.empty()) return;
  use_.waited_seconds += seconds_in(answer, "waited_ns");
  if (start == "deferred") ++use_.deferred;
  if (start == "at once") ++use_.at_once;
  if (start != "first" && start != "later") return;
  ++(start == "first" ? use_.first : use_.later);
  const double lag = seconds_in(answer, "lag_ns");
  use_.lag_seconds += (lag - use_.lag_seconds) / static_cast<double>(use_.first + use_.later);
  use_.longest_lag_seconds = std::max(use_.longest_lag_seconds, lag);
}

StartUse Coordination::start_use() const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return use_;
}

bool Coordination::is_counted() const noexcept {
  for (std::uint32_t i = 0; i < segment_.header().client_count; ++i)
    if (segment_.client(i).client->collectives.load(std::memory_order_relaxed) > 0) return true;
  return false;
}

std::string Coordination::report() const {
  const StartUse use = start_use();
  const std::uint64_t at_collective = use.first + use.later;
  const std::uint64_t starts = at_collective + use.deferred + use.at_once;
  if (starts > 0 && !is_counted())
    return "no rank has said when it comes out of a collective of all ranks, by "
           "leat_after_collective or LD_PRELOAD=libleat_pmpi.so: it has started without";
  return fmt::format(
      "of {}, {} were at the collective that was meant, {} at a later one, {} after defer-max, {} "
      "at "
      "once; {} after the ranks came out of it on average, {} at most",
      counted(starts, "start"), use.first, use.later, use.deferred, use.at_once,
      format_seconds(use.lag_seconds), format_seconds(use.longest_lag_seconds));
}

}  // namespace leat::server
