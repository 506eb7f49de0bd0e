// SPDX-License-Identifier: Apache-2.0
// What ranks of this server have signalled, and what the other servers are told of it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/state/clients/clients.hpp"
#include "server/state/iterations/tracker.hpp"
#include "server/state/run.hpp"
#include "server/state/signals/agreement.hpp"

namespace leat::server {

// What ranks have signalled and is not decided on, in order. Private to the engine's thread.
struct SaidSignal {
  std::int64_t iteration = 0;
  std::uint32_t client = 0;
  std::uint32_t event = 0;
  std::uint32_t times = 1;
};

class SaidSignals {
 public:
  /// In a row, or when there are very many, they are counted.
  void keep(const SaidSignal& said);
  /// Those up to this iteration.
  std::vector<SaidSignal> take(std::int64_t iteration);
  bool any_until(std::int64_t iteration) const noexcept;
  const std::vector<SaidSignal>& all() const noexcept { return said_; }

  nlohmann::json in_words() const;
  void take_words(const nlohmann::json& words);

 private:
  std::vector<SaidSignal> said_;
};

// What this server tells the others of the run of what its ranks signal: once that is said of an
// iteration, it stays so. Private to the engine's thread.
class OwnReport {
 public:
  /// `events`: those of the model that it is about.
  OwnReport(const Run& run, const Clients& clients, const IterationTracker& iterations,
            std::vector<std::uint32_t> events);

  const std::vector<std::uint32_t>& events() const noexcept { return events_; }
  /// This event of the model is one of them.
  bool has(std::uint32_t event) const noexcept;
  void keep(const SaidSignal& said) { said_.keep(said); }
  /// From outside: once, in the next iteration that is reported.
  void order(std::uint32_t event) { ++ordered_[place_of(event)]; }

  const Report& report() const noexcept { return report_; }
  /// How often a rank has signalled it, reported or not.
  std::int64_t signalled(std::uint32_t event) const;
  /// True: more iterations have been ended, and what was signalled in them is in the report.
  bool take_ended();
  /// What lies before `needed` is; and what a server would need that is too far behind.
  void forget_before(std::int64_t needed);
  /// As it is to be told now.
  std::string line(std::vector<std::string> knows, std::int64_t decided);
  /// Nothing more is reported.
  void give_up(const std::string& why);
  const std::string& why_given_up() const noexcept { return why_given_up_; }

  // Going on where a server has died
  nlohmann::json as_told() const;
  void take_told(const nlohmann::json& entry);
  /// It was told by the server before this one.
  void go_on_as(Report report) { report_ = std::move(report); }
  nlohmann::json in_words() const;
  void take_words(const nlohmann::json& words);

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
  SaidSignals said_;
  CallCounts counts_;                  // of what is reported
  std::vector<std::int64_t> ordered_;  // by event
};

}  // namespace leat::server
