// SPDX-License-Identifier: Apache-2.0
// What a run has taken, where the time went, and what would have been better: for people and, as
// JSON, for `leat plan`.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/report/plan.hpp"
#include "server/state/iterations/mode_choice.hpp"
#include "server/state/iterations/times.hpp"

namespace leat::server {

/// Of one store or script.
struct WorkDone {
  std::string name;
  std::uint64_t calls = 0;
  double seconds = 0;  ///< at work, in all
  std::optional<double> without_core =
      {};  ///< of it: it could have worked, and others had the cores
  std::optional<ScheduleUse> use = {};
};

struct RunReport {
  std::string simulation, session;
  std::int64_t ranks = 1;                      ///< of this node, or of this server's part of it
  std::int64_t cores = 1;                      ///< dedicated ones
  bool is_shared = false;                      ///< cores that ranks compute on as well
  bool synchronous = false;                    ///< ranks wait for the stores
  bool automatic = false;                      ///< mode="auto"
  std::optional<ModeChoice::Decision> mode{};  ///< with it; nothing: not decided
  bool since_takeover = false;
  bool all_went_well = false;  ///< nothing lost, dropped, skipped or warned of
  std::uint64_t iterations = 0;
  double seconds = 0;  ///< from the end of the first iteration to that of all output
  IterationTimes::Figures times;
  std::vector<WorkDone> stores, scripts;
  std::optional<double> server_busy;  ///< share of the dedicated cores' time that leatd computed
  std::uint64_t bytes = 0;            ///< handed over
  std::uint64_t buffer_bytes = 0, most_used_bytes = 0;
  double waited_for_memory = 0;  ///< seconds of an iteration: mean over the ranks

  /// Nothing can be said of fewer than two iterations.
  bool says_something() const noexcept { return times.intervals > 0 && iterations > 0; }
};

/// What the models of plans want to know of it.
plan::Measured measured_of(const RunReport& report);
nlohmann::json json_of(const RunReport& report);
/// Two lines for the log.
std::vector<std::string> lines_of(const RunReport& report);

}  // namespace leat::server
