// SPDX-License-Identifier: Apache-2.0
#include "server/command/predict_report.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <new>
#include <system_error>
#include <thread>

#include "lib/predict/compute_times.hpp"
#include "lib/predict/goal.hpp"
#include "lib/predict/prediction.hpp"

namespace leat::command {
namespace {

using predict::Run;

Result<std::unique_ptr<predict::ComputeTimes>> compute_of(const PredictQuestion& question,
                                                          std::int64_t ranks, std::uint64_t seed) {
  return question.collective_traces.empty()
             ? predict::drawn_compute(question.compute_ns, question.imbalance, seed)
             : predict::recorded_compute(question.collective_traces, ranks, seed);
}

Result<std::unique_ptr<predict::BurstSource>> bursts_of(const PredictQuestion& question,
                                                        std::int64_t ranks, predict::Sigma sigma,
                                                        std::uint64_t seed) {
  return question.burst_traces.empty()
             ? predict::drawn_bursts(question.bursts, sigma, seed)
             : predict::recorded_bursts(question.burst_traces,
                                        predict::nodes_of(ranks, question.per_node), sigma, seed);
}

Result<SeedOutcome> outcome_of(const PredictQuestion& question, std::int64_t ranks,
                               predict::Sigma sigma, std::uint64_t seed) {
  const auto compute = compute_of(question, ranks, seed);
  if (!compute) return compute.error();
  const auto bursts = bursts_of(question, ranks, sigma, seed);
  if (!bursts) return bursts.error();
  const predict::Job job{ranks, question.per_node, question.costs, compute->get()};
  const Result<Run> with =
      predict::run_of(job, bursts->get(), {question.collectives, question.length_ns});
  if (!with) return with.error();
  const Result<Run> without = predict::run_of(job, nullptr, {with->collectives, 0});
  if (!without) return without.error();
  return SeedOutcome{seed,
                     with->collectives,
                     with->ns,
                     without->ns,
                     with->mean_arrival_spread,
                     without->mean_arrival_spread,
                     predict::slowdown(*with, *without)};
}

Result<SeedOutcome> outcome_or_no_memory(const PredictQuestion& question, std::int64_t ranks,
                                         predict::Sigma sigma, std::uint64_t seed) {
  try {
    return outcome_of(question, ranks, sigma, seed);
  } catch (const std::bad_alloc&) {
    return Error{Status::ERROR_MEMORY,
                 "there is no memory for " + std::to_string(ranks) + " ranks"};
  }
}

// As many as there are cores, but not so many that all of their ranks take gigabytes.
std::size_t useful_threads(const PredictQuestion& question) {
  const std::int64_t most_ranks = *std::max_element(question.ranks.begin(), question.ranks.end());
  const auto fitting = static_cast<std::size_t>(2 * predict::kMostRanks / most_ranks);
  return std::min<std::size_t>(std::max(1u, std::thread::hardware_concurrency()), fitting);
}

// What is done for each of so many things; the order in which does not matter.
template <class Do>
void for_each_of(std::size_t count, std::size_t threads, const Do& work) {
  std::atomic<std::size_t> next{0};
  const auto some = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> helpers;
  try {
    while (helpers.size() + 1 < std::min(count, threads)) helpers.emplace_back(some);
  } catch (const std::system_error&) {
    // No more of them, so those that are there do it.
  }
  some();
  for (std::thread& helper : helpers) helper.join();
}

template <class Figure>
std::vector<double> figures(const PredictRow& row, const Figure& figure) {
  std::vector<double> values;
  for (const SeedOutcome& each : row.of_seeds) values.push_back(each.*figure);
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

double PredictRow::mean_slowdown() const { return mean(figures(*this, &SeedOutcome::slowdown)); }

double PredictRow::least_slowdown() const {
  const std::vector<double> values = figures(*this, &SeedOutcome::slowdown);
  return *std::min_element(values.begin(), values.end());
}

double PredictRow::most_slowdown() const {
  const std::vector<double> values = figures(*this, &SeedOutcome::slowdown);
  return *std::max_element(values.begin(), values.end());
}

double PredictRow::mean_arrival_spread_ns() const {
  return mean(figures(*this, &SeedOutcome::arrival_spread_ns));
}

Result<PredictReport> predict_report(PredictQuestion question) {
  PredictReport report{std::move(question), {}};
  const PredictQuestion& asked = report.question;
  for (const std::int64_t ranks : asked.ranks) {
    for (const predict::Sigma& sigma : asked.sigmas) report.rows.push_back({ranks, sigma, {}});
  }
  const auto seeds = static_cast<std::size_t>(asked.seeds);
  std::vector<std::optional<Result<SeedOutcome>>> outcomes(report.rows.size() * seeds);
  for_each_of(outcomes.size(), useful_threads(asked), [&](std::size_t i) {
    const PredictRow& row = report.rows[i / seeds];
    const std::uint64_t seed = static_cast<std::uint64_t>(asked.seed) + i % seeds;
    outcomes[i].emplace(outcome_or_no_memory(asked, row.ranks, row.sigma, seed));
  });
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!*outcomes[i]) return outcomes[i]->error();
    report.rows[i / seeds].of_seeds.push_back(**outcomes[i]);
  }
  return report;
}

Result<void> export_goal(const PredictQuestion& question, const std::string& file) {
  const auto compute = compute_of(question, question.ranks.front(), question.seed);
  if (!compute) return compute.error();
  const predict::Job job{question.ranks.front(), question.per_node, question.costs, compute->get()};
  std::ofstream out(file);
  predict::write_goal(out, job, question.bytes, question.collectives);
  out.close();
  if (out) return {};
  return Error{Status::ERROR_SYSTEM, "--export-goal: " + file + " cannot be written"};
}

}  // namespace leat::command
