// SPDX-License-Identifier: Apache-2.0
// Events of the whole run where several servers have its ranks. This server publishes what its ranks signal, and an
// iteration goes to the stores when the reports of all servers cover it. Nothing else waits for that, and it ends when a
// server is silent for too long. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/state/journal/session_journal.hpp"
#include "server/state/signals/agreement.hpp"
#include "server/state/signals/group_thread.hpp"
#include "server/state/signals/own_report.hpp"

namespace leat::server {

class RunSignals {
 public:
  /// Null: one server has all ranks, or no event is of the whole run; nothing is done here then.
  RunSignals(const Run& run, const Clients& clients, const IterationTracker& iterations,
             SessionJournal& journal, std::unique_ptr<Group> group, std::function<void()> wake);

  bool is_on() const noexcept { return thread_ != nullptr; }
  /// Of events that are decided here.
  OwnReport& own() noexcept { return own_; }
  void start();
  /// Publishes the last report.
  void stop();

  /// Publishes what has been ended, and takes what the others have published: iterations of which it
  /// has become known that something happens in them.
  std::vector<std::int64_t> advance();
  /// It is known what happens in all iterations up to this one.
  std::int64_t known_until() const noexcept;
  std::vector<Signal> agreed(std::int64_t iteration) const;
  /// The same; they happen in another one.
  std::vector<Signal> take(std::int64_t iteration);
  void forget(std::int64_t iteration) {
    agreed_.erase(agreed_.begin(), agreed_.upper_bound(iteration));
  }
  /// For what depends on time, now and then.
  void tick();
  bool has_news() const noexcept { return thread_ && thread_->has_update(); }
  /// When tick() has something to do; INT64_MAX: never.
  std::int64_t next_deadline_ns() const noexcept;
  /// For others.
  bool waits() const noexcept;
  /// Nothing more comes of the others that this server needs, or they of it.
  bool is_settled() const noexcept;
  /// No event of the whole run happens on this server any more.
  bool gave_up() const noexcept { return is_on() && own_.report().gave_up; }

  /// "iteration 12 waits for server node7 (rank 4 and others)", or "".
  std::string awaited() const;
  /// Of other servers, each once.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }
  /// How often this event was signalled more than it has happened, and why.
  std::int64_t missing(std::uint32_t event, std::string* why) const;

  // Recovery where a server has died
  void apply(const ReportPublished& record);
  void apply(const RunSignalsAgreed& record);
  void apply(const RunSignalsSnapshot& record);
  /// `lost`: what that one knew is gone. Iterations in which something happens yet.
  std::vector<std::int64_t> take_over(std::int64_t done, bool lost);
  RunSignalsSnapshot snapshot() const;

 private:
  std::string why_stuck() const;
  void publish();
  void give_up(const std::string& why);
  void poll();

  const Run& run_;
  SessionJournal& journal_;
  OwnReport own_;
  SilenceTimer silence_;
  std::unique_ptr<GroupThread> thread_;
  std::optional<Agreement> agreement_;
  std::map<std::int64_t, std::vector<std::int64_t>> agreed_;  // by iteration: times, by event
  std::vector<std::string> warnings_;
  std::string problem_;  // why nothing can be published
  std::int64_t published_ns_ = 0;
  bool is_lost_ = false;  // what the server before this one had published is yet to be read
};

}  // namespace leat::server
