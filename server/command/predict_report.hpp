// SPDX-License-Identifier: Apache-2.0
// What `leat predict` has been asked and has found out, before it becomes a screen, JSON or a
// picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/predict/bursts.hpp"
#include "lib/predict/machine.hpp"
#include "lib/predict/trace.hpp"
#include "server/command/terminal.hpp"

namespace leat::command {

/// As it stands on the command line; times have units.
struct PredictOptions {
  std::vector<std::int64_t> ranks;
  std::int64_t per_node = 1, bytes = 8, seed = 1, seeds = 3, rendezvous = 65535;
  std::string latency = "2500ns", overhead = "1500ns", gap = "1us", gap_per_byte = "6ns",
              overhead_per_byte = "0ns";
  std::string compute, burst, every, length;
  double imbalance = 0, spread = 0;
  std::vector<std::string> collective_traces, burst_traces, sigma = {"none"};
  std::optional<std::int64_t> collectives;
  std::string goal, plot, interpreter = "python3";
  bool json = false;
};

/// The same, read and checked.
struct PredictQuestion {
  std::vector<std::int64_t> ranks;
  std::int64_t per_node = 1, bytes = 8, seed = 1, seeds = 1;
  predict::Machine machine;
  predict::MessageCosts costs;
  std::int64_t compute_ns = 0;  ///< median; 0: collective_traces have it
  double imbalance = 0;
  predict::BurstShape bursts;  ///< every_ns = 0: burst_traces have them, or there are none
  std::vector<predict::Trace> collective_traces, burst_traces;
  std::vector<predict::Sigma> sigmas;
  std::int64_t collectives = 0, length_ns = 0;  ///< of a run; 0: no limit

  bool has_bursts() const { return bursts.every_ns > 0 || !burst_traces.empty(); }
};

Result<PredictQuestion> question_of(const PredictOptions& options);

/// One run with bursts, beside the one without.
struct SeedOutcome {
  std::uint64_t seed = 0;
  std::int64_t collectives = 0, ns = 0, ns_without = 0;
  double arrival_spread_ns = 0, arrival_spread_without_ns = 0;
  double slowdown = 0;  ///< 0.1 is 10 %
};

/// A number of ranks with a sigma, over all seeds.
struct PredictRow {
  std::int64_t ranks = 0;
  predict::Sigma sigma;
  std::vector<SeedOutcome> of_seeds;

  double mean_slowdown() const;
  double least_slowdown() const;
  double most_slowdown() const;
  double mean_arrival_spread_ns() const;
};

struct PredictReport {
  PredictQuestion question;
  std::vector<PredictRow> rows;
};

/// Simulates, on all cores that this process may use.
Result<PredictReport> predict_report(PredictQuestion question);

/// The schedule for LogGOPSim.
Result<void> export_goal(const PredictQuestion& question, const std::string& file);

std::string screen(const PredictReport& report, const Look& look);
std::string json(const PredictReport& report);

/// Draws the rows with matplotlib.
Result<void> plot(const PredictReport& report, const std::string& file,
                  const std::string& interpreter);

}  // namespace leat::command
