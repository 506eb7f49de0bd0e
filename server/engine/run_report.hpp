// SPDX-License-Identifier: Apache-2.0
// What a run has taken, where the time went, and what would have been better.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/state/iterations/times.hpp"

namespace leat::plan {

// How long a run should have taken, by the models of docs/explanation/planning.md, which has their
// sources. `leat plan` has them for other numbers of ranks and cores too, in
// python-plugins/leat/planning/ways.py; tests/integration/test_report.py compares both.

/// One iteration of a run as it was, on one node; times in seconds.
struct Measured {
  double compute = 0;   ///< with `ranks` cores
  double inside = 0;    ///< in Leat's calls, beside it
  double output = 0;    ///< of the stores, which wait for the disk
  double analysis = 0;  ///< of scripts and plugins on one core
  std::int64_t ranks = 1, iterations = 1;
  bool is_shared = false;       ///< the server's cores are the ranks'
  bool is_synchronous = false;  ///< ranks waited for output and analyses in their calls
};

/// Seconds of all iterations.
double expected_seconds(const Measured& run);
/// Of the same with output and analyses beside the next iteration, on cores of their own.
double overlapped_seconds(const Measured& run);

}  // namespace leat::plan

namespace leat::server {

// What mode="auto" has decided in a run, and why.

/// One sentence, with the numbers.
std::string in_words(const ModeChoice::Decision& decision);
/// Nothing: it was not decided.
nlohmann::json json_of(const std::optional<ModeChoice::Decision>& decision);

// What a run has taken, where the time went, and what would have been better: for people and, as
// JSON, for `leat plan`.

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
  std::string simulation, session, run_id;
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

// What would have made a run shorter: said only where that is what ranks waited for, in runs that
// are long enough to be judged and in which all went well.

/// One sentence: what ranks waited for, what to change, and when that holds. "" where there is
/// nothing to say.
std::string advice(const RunReport& report);

}  // namespace leat::server
