// SPDX-License-Identifier: Apache-2.0
// What ranks of this server have signalled, and what it reports of that to the other servers of the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/state/clients/clients.hpp"
#include "server/state/iterations/tracker.hpp"
#include "server/state/run.hpp"
#include "server/state/signals/agreement.hpp"

namespace leat::server {

// What ranks have signalled and is not decided on, in order. Private to the engine's thread.
class PendingSignals {
 public:
  PendingSignals() = default;
  explicit PendingSignals(std::vector<PendingSignal> all) : all_(std::move(all)) {}

  /// The same one in a row is counted, and so is any, when there are very many.
  void add(const PendingSignal& signal);
  /// Those up to this iteration.
  std::vector<PendingSignal> take(std::int64_t iteration);
  bool any_until(std::int64_t iteration) const noexcept;
  const std::vector<PendingSignal>& all() const noexcept { return all_; }

 private:
  std::vector<PendingSignal> all_;
};

// The report of this server: once an iteration is in a published report, that part of it stays as it is. Private to the
// engine's thread.
class OwnReport {
 public:
  /// `events`: those of the model that it is about.
  OwnReport(const Run& run, const Clients& clients, const IterationTracker& iterations,
            std::vector<std::uint32_t> events);

  const std::vector<std::uint32_t>& events() const noexcept { return events_; }
  /// This event of the model is one of them.
  bool has(std::uint32_t event) const noexcept;
  void add(const PendingSignal& signal) { pending_.add(signal); }
  /// From outside: once, in the next iteration that is reported.
  void request(std::uint32_t event) { ++requested_[place_of(event)]; }

  const Report& report() const noexcept { return report_; }
  /// How often a rank has signalled it, reported or not.
  std::int64_t signalled(std::uint32_t event) const;
  /// True: more iterations have been ended, and what was signalled in them is in the report.
  bool take_ended();
  /// Forgets what lies before `needed`, and what only a server would need that is too far behind.
  void forget_before(std::int64_t needed);
  /// The line to be published now.
  std::string line(std::vector<std::string> knows, std::int64_t decided);
  /// Nothing more is reported.
  void give_up(const std::string& why);
  const std::string& why_given_up() const noexcept { return why_given_up_; }

  // Recovery where a server has died
  ReportPublished published() const { return {line_of(report_), why_given_up_}; }
  void apply(const ReportPublished& record);
  void apply(const RunSignalsSnapshot& record);
  /// The server before this one had published it.
  void resume(Report report) { report_ = std::move(report); }
  /// Fills in what is this report's of a snapshot.
  void store_in(RunSignalsSnapshot* record) const;

 private:
  std::size_t place_of(std::uint32_t event) const;
  std::vector<Tally> tallies() const;
  void count(std::int64_t until);
  void take_step(std::int64_t iteration);

  const Run& run_;
  const Clients& clients_;
  const IterationTracker& iterations_;
  std::vector<std::uint32_t> events_;
  Report report_;
  std::string why_given_up_;
  PendingSignals pending_;
  CallCounts counts_;                    // of what is reported
  std::vector<std::int64_t> requested_;  // by event
};

}  // namespace leat::server
