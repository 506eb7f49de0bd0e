// SPDX-License-Identifier: Apache-2.0
// What `leat predict` costs: processor time of an iteration of 65,536 ranks, while nothing interrupts
// them and among bursts that are not synchronised, and memory of a rank. Prints JSON.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>

#include "lib/predict/all_reduce.hpp"
#include "tests/bench/job/cpu_time.hpp"

namespace leat::predict {
namespace {

constexpr std::int64_t kRanks = 65536;
constexpr std::int64_t kComputeNs = 10'000'000;

double allocated_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd);
}

struct Figures {
  double iteration_ns = 0, bytes_per_rank = 0;
};

// Of iterations: computing and an all-reduce.
Figures measure(const BurstSource* bursts, std::int64_t iterations) {
  const MessageCosts costs = *message_costs(Machine{}, 8);
  const auto compute = *drawn_compute(kComputeNs, 0, 1);
  const double before = allocated_bytes();
  RankClocks clocks(costs, kRanks, 1, bursts);
  const double bytes = allocated_bytes() - before;
  const double begin = bench::thread_cpu_seconds();
  for (std::int64_t i = 0; i < iterations; ++i) {
    clocks.compute(*compute, i);
    clocks.all_reduce();
  }
  const double spent = bench::thread_cpu_seconds() - begin;
  return {1e9 * spent / static_cast<double>(iterations), bytes / kRanks};
}

int run(std::int64_t iterations) {
  const auto bursts = *drawn_bursts({40'000'000, 0.15, 2'000'000'000}, std::nullopt, 1);
  const Figures quiet = measure(nullptr, iterations);
  const Figures busy = measure(bursts.get(), iterations);
  std::printf("{\"undisturbed_ns\": %.0f, \"with_bursts_ns\": %.0f, \"bytes_per_rank\": %.1f}\n",
              quiet.iteration_ns, busy.iteration_ns, busy.bytes_per_rank);
  return 0;
}

}  // namespace
}  // namespace leat::predict

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: leat_predict_bench ITERATIONS\n");
    return 2;
  }
  return leat::predict::run(std::atoll(argv[1]));
}
