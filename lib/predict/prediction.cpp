// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/prediction.hpp"

#include "lib/predict/all_reduce.hpp"

namespace leat::predict {
namespace {

// Far enough from the end of 64 bits for one more iteration.
constexpr std::int64_t kTooLateNs = std::int64_t{1} << 61;

bool is_over(const Run& run, const Length& length) {
  return (length.collectives > 0 && run.collectives >= length.collectives) ||
         (length.ns > 0 && run.ns >= length.ns);
}

}  // namespace

std::int64_t nodes_of(std::int64_t ranks, std::int64_t ranks_per_node) {
  return (ranks + ranks_per_node - 1) / ranks_per_node;
}

Result<Run> run_of(const Job& job, const BurstSource* bursts, const Length& length) {
  RankClocks clocks(job.costs, job.ranks, job.ranks_per_node, bursts);
  Run run;
  double spreads = 0;
  do {
    clocks.compute(*job.compute, run.collectives);
    spreads += static_cast<double>(clocks.arrival_spread());
    clocks.all_reduce();
    ++run.collectives;
    run.ns = clocks.last();
    if (run.ns > kTooLateNs)
      return Error{Status::ERROR_ARGUMENT,
                   "a run of more than 70 years: ask for fewer collectives"};
  } while (!is_over(run, length));
  run.mean_arrival_spread = spreads / static_cast<double>(run.collectives);
  return run;
}

std::int64_t undisturbed_all_reduce_ns(const MessageCosts& costs, std::int64_t ranks) {
  RankClocks clocks(costs, ranks, 1, nullptr);
  clocks.all_reduce();
  return clocks.last();
}

double slowdown(const Run& with, const Run& without) {
  return static_cast<double>(with.ns - without.ns) / static_cast<double>(without.ns);
}

}  // namespace leat::predict
