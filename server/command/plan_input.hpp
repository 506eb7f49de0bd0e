// SPDX-License-Identifier: Apache-2.0
// What `leat plan` is told and measures, before it becomes a screen or JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/plan/plan.hpp"

namespace leat::command {

struct PlanOptions {
  std::string file;                            ///< the XML; "": `from` has all
  std::string from;                            ///< a report of a run
  std::string compute, disk, analysis, bytes;  ///< with units
  std::optional<std::int64_t> ranks, cores, iterations, parallel;
  double sequential = 0;         ///< percent
  std::vector<std::string> set;  ///< "nx=256"
  std::string measure;           ///< a folder whose disk is measured; "": none is
  bool json = false;
  std::string plot, interpreter = "python3";  ///< "": no picture
};

struct PlanInput {
  std::string simulation;
  plan::Load load;
  std::int64_t dedicated = 1;                ///< cores, as the XML or the run had it
  std::optional<double> bytes_per_second;    ///< of the disk
  std::uint64_t bytes = 0;                   ///< handed over on a node in an iteration
  std::uint64_t buffer_bytes = 0;            ///< 0: not known
  std::optional<double> measured, expected;  ///< seconds of the run that was reported
  std::optional<plan::Way> was{};            ///< of that run, where these are its cores
  bool computing_is_estimated = false;       ///< by what is left of them without its analyses
  std::vector<std::string> placeholders{};   ///< "nx=1": of the XML; `bytes` rests on them
};

/// ERROR_ARGUMENT: the command line is wrong; ERROR_CONFIG: the XML or the report.
Result<PlanInput> plan_input(const PlanOptions& options);

/// Bytes a second that a file in this folder takes, onto the disk; writes 256 MiB and removes them.
Result<double> measure_disk(const std::string& folder);

/// All there is to see, for people.
std::string plan_screen(const PlanInput& input, bool colours);
std::string plan_json(const PlanInput& input);
/// A picture. ERROR_CONFIG: there is nothing to compare.
Result<void> plot(const PlanInput& input, const std::string& file, const std::string& interpreter);

}  // namespace leat::command
