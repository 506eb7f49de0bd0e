// SPDX-License-Identifier: Apache-2.0
#include "server/command/drain_watch.hpp"
#include "lib/base/text.hpp"

#include <algorithm>
#include <utility>

#include "lib/os/child_process.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/file_lock.hpp"

namespace leat::command {
namespace {

constexpr std::int64_t kLeastLimitNs = 2'000'000'000;
// One that takes processor time all the while, and gets nothing done, runs in a circle.
constexpr std::int64_t kMostFruitlessNs = 600'000'000'000;
// Of processor time between two glances: less is a loop that looks again and again whether it may
// go on.
constexpr std::int64_t kLeastWorkNs = platform::kGlanceNs / 5;

}  // namespace

DrainWatch::DrainWatch(const std::string& segment, pid_t who)
    : path_("/dev/shm/" + segment),
      segment_(shm::Segment::look(segment)),
      is_child_(who != 0),
      who_(who),
      count_(count()),
      limit_ns_(kLeastLimitNs) {
  if (segment_)
    limit_ns_ = std::max(limit_ns_, static_cast<std::int64_t>(segment_->header().timeout_ns));
}

std::uint64_t DrainWatch::count() const noexcept {
  return segment_ ? segment_->server_state().progress.load(std::memory_order_relaxed) : 0;
}

// Before its first result there is none to count: it starts, reads the XML, opens the stores.
bool DrainWatch::works() {
  const std::int64_t before = std::exchange(processor_ns_, platform::processor_time_of(who_));
  return processor_ns_ - before >= kLeastWorkNs;
}

bool DrainWatch::stuck() {
  const std::int64_t now = platform::now_ns();
  if (now - looked_ns_ < platform::kGlanceNs) return false;
  const std::int64_t passed =
      looked_ns_ == 0 ? 0 : std::min(now - looked_ns_, 2 * platform::kGlanceNs);
  looked_ns_ = now;
  const pid_t before = who_;
  if (!is_child_) who_ = platform::holder_of_lock(path_);
  const std::uint64_t counted_before = std::exchange(count_, count());
  const bool has_more = count_ != counted_before || who_ != before;
  fruitless_ns_ = has_more ? 0 : fruitless_ns_ + passed;
  idle_ns_ = works() || has_more ? 0 : idle_ns_ + passed;
  return idle_ns_ >= limit_ns_ || fruitless_ns_ >= kMostFruitlessNs;
}

std::string DrainWatch::why() const {
  const std::string number = std::to_string(who_);
  const bool stopped = platform::is_stopped(who_);
  const auto seconds =
      static_cast<std::uint64_t>(std::max(idle_ns_, fruitless_ns_) / 1'000'000'000);
  return (who_ > 0 ? "process " + number : "a process of another container") + " stores it, " +
         (stopped ? "is stopped, " : "") + "and has got nothing done for " +
         counted(seconds, "second") +
         (stopped ? ": let it go on (kill -CONT " + number + "), or end it and try again"
                  : ": end it and try again, if it does not go on");
}

}  // namespace leat::command
