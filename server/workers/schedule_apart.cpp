// SPDX-License-Identifier: Apache-2.0
#include "server/workers/schedule_apart.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/os/clock.hpp"
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
  std::string worked = fmt::format(
      "the analysis worked for {:.3g} s in {} pieces, of which {} ended after their phase",
      all.used_seconds, all.pieces, all.outlasted);
  if (all.outlasted > 0) worked += fmt::format(", by {:.2g} ms at most", all.late_seconds * 1e3);
  if (all.phases == 0)
    return "no rank has said when it idles, by leat_idle_begin, LD_PRELOAD=libleat_pmpi.so or "
           "OMP_TOOL_LIBRARIES=libleat_ompt.so: " +
           worked + ", while ranks waited for Leat or had ended";
  return fmt::format(
      "ranks idled for {:.3g} s in {} phases ({} too short to use, {} longer or shorter than "
      "expected); {}",
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

namespace {

// Ranks wake those that sleep on their own word; what else lets them work is seen after that.
constexpr std::int64_t kLookAgainNs = 10'000'000;

}  // namespace

IdleGate::IdleGate(const shm::Segment& segment, int cores) noexcept
    : segment_(segment), ranks_(segment.header().client_count), cores_(cores) {}

bool IdleGate::is_idle(std::uint32_t client) const noexcept {
  const shm::ClientArea rank = segment_.client(client);
  return rank.client->idle_phase.load(std::memory_order_seq_cst) % 2 == 1 || waits_for_leat(rank) ||
         !is_attached(rank);
}

// Of those that idle, the share of the node's cores.
int IdleGate::idle_cores() const noexcept {
  std::uint32_t idle = 0;
  for (std::uint32_t client = 0; client < ranks_; ++client) idle += is_idle(client) ? 1 : 0;
  const auto ranks = static_cast<std::int64_t>(ranks_);
  return static_cast<int>((static_cast<std::int64_t>(idle) * cores_ + ranks - 1) / ranks);
}

// On the word of some rank that does not idle.
void IdleGate::sleep() noexcept {
  const std::uint32_t first = next_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < ranks_; ++i) {
    const std::uint32_t client = (first + i) % ranks_;
    const std::atomic<std::uint32_t>& word = segment_.client(client).client->idle_phase;
    const std::uint32_t seen = word.load(std::memory_order_seq_cst);
    if (!is_idle(client) && seen % 2 == 0) return os::futex_wait(word, seen, kLookAgainNs);
  }
  os::pause_shortly();  // all idle, and all that they leave is in use
}

void IdleGate::await() noexcept {
  while (idle_cores() == 0) sleep();
}

std::int64_t IdleGate::enter(const os::GivenUp& given_up) {
  for (;; sleep()) {
    if (given_up && given_up()) return 0;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (at_work_ >= idle_cores()) continue;
    ++at_work_;
    return os::now_ns();
  }
}

void IdleGate::leave(std::int64_t begun_ns) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::int64_t ns = os::now_ns() - begun_ns;
  work_.ns += ns;
  ++work_.pieces;
  if (at_work_ > idle_cores()) {
    ++work_.outlasted;
    work_.longest_outlasted_ns = std::max(work_.longest_outlasted_ns, ns);
  }
  --at_work_;
}

IdleGate::Work IdleGate::take_work() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(work_, {});
}

std::string HarvestOfModules::report() {
  const IdleGate::Work work = gate.take_work();
  schedule.take({{{"work_ns", work.ns},
                  {"pieces", work.pieces},
                  {"outlasted", work.outlasted},
                  {"longest_outlasted_ns", work.longest_outlasted_ns}},
                 ""});
  return schedule.report();
}

// What comes behind the pieces waits as they do.
std::string GatedTeam::run(std::uint64_t pieces, const Piece& piece, const IsLate& is_late) {
  const Piece gated = [&](std::uint64_t number) {
    const IdleGate::Place place(gate_);
    return piece(number);
  };
  std::string error = team_.run(pieces, gated, is_late);
  gate_.await();
  return error;
}

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
  const std::int64_t since_ns = os::now_ns();
  const auto start = [since_ns](const char* how, std::int64_t exit_ns = 0) {
    const std::int64_t now_ns = os::now_ns();
    return Start{how, now_ns, now_ns - since_ns, exit_ns > 0 ? now_ns - exit_ns : 0};
  };
  const std::optional<Goal> goal = goal_of(iteration);
  if (!goal) return start("at once");
  while (!is_anybody_held_up()) {
    const std::uint32_t now = goal->lane->collectives.load(std::memory_order_seq_cst);
    if (static_cast<std::int32_t>(now - goal->number) >= 0)
      return start(goal->is_first ? "first" : "later",
                   goal->lane->collective_ns.load(std::memory_order_relaxed));
    const std::int64_t left_ns = since_ns + defer_max_ns_ - os::now_ns();
    if (left_ns <= 0) return start("deferred");
    os::futex_wait(goal->lane->collectives, now, std::min(left_ns, kLookForWaitersNs));
  }
  return start("at once");
}

}  // namespace leat::server
