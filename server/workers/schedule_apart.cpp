// SPDX-License-Identifier: Apache-2.0
#include "server/workers/schedule_apart.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "server/workers/frames.hpp"

namespace leat::server {

std::unique_ptr<ScheduleApart> schedule_apart(model::Schedule schedule,
                                              const shm::Segment& segment) {
  if (schedule == model::Schedule::harvest) return std::make_unique<Harvest>(segment);
  if (schedule == model::Schedule::coordinated) return std::make_unique<Coordination>(segment);
  return nullptr;
}

void Harvest::take(const Frame& answer) {
  work_ns_ += number_in(answer, "work_ns");
  pieces_ += number_in(answer, "pieces");
  outlasted_ += number_in(answer, "outlasted");
  longest_outlasted_ns_ =
      std::max(longest_outlasted_ns_.load(), number_in(answer, "longest_outlasted_ns"));
}

// When a phase ended within a piece is not known: the core was back as long after it as the piece
// took, or sooner.
IdleUse Harvest::idle_use() const noexcept {
  IdleUse use;
  for (std::uint32_t i = 0; i < segment_.header().client_count; ++i) {
    const shm::ClientLane& lane = *segment_.client(i).client;
    use.found_seconds += static_cast<double>(lane.idle_ns.load(std::memory_order_relaxed)) * 1e-9;
    use.phases += lane.idle_phases.load(std::memory_order_relaxed);
    use.left_alone += lane.left_alone.load(std::memory_order_relaxed);
    use.mispredicted += lane.mispredicted.load(std::memory_order_relaxed);
  }
  use.used_seconds = static_cast<double>(work_ns_.load()) * 1e-9;
  use.pieces = static_cast<std::uint64_t>(pieces_.load());
  use.outlasted = static_cast<std::uint64_t>(outlasted_.load());
  use.late_seconds = static_cast<double>(longest_outlasted_ns_.load()) * 1e-9;
  return use;
}

std::string Harvest::report() const {
  const IdleUse all = idle_use();
  std::string worked =
      fmt::format("it has worked for {:.3g} s in {} pieces, of which {} outlasted their phase",
                  all.used_seconds, all.pieces, all.outlasted);
  if (all.outlasted > 0) worked += fmt::format(", by {:.2g} ms at most", all.late_seconds * 1e3);
  if (all.phases == 0)
    return "no rank has said when it idles, by leat_idle_begin, LD_PRELOAD=libleat_pmpi.so or "
           "OMP_TOOL_LIBRARIES=libleat_ompt.so: " +
           worked + ", while ranks waited for Leat or had ended";
  return fmt::format(
      "ranks have idled for {:.3g} s in {} phases, {} of them left alone as short, {} longer or "
      "shorter than expected; {}",
      all.found_seconds, all.phases, all.left_alone, all.mispredicted, worked);
}

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
