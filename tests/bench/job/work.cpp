// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/job/work.hpp"

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

// A simulation has its own data in the caches, which output takes away: as much as half of a usual
// second level.
constexpr std::int64_t kTable = 64 * 1024, kUnit = 1024;
constexpr int kTries = 9;
constexpr double kTrySeconds = 0.02;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

void leat_bench_work(std::int64_t units) {
  static std::vector<double> table(kTable, 1.0);
  for (std::int64_t unit = 0; unit < units; ++unit) {
    double* const part = table.data() + unit % (kTable / kUnit) * kUnit;
    for (std::int64_t i = 0; i < kUnit; ++i) part[i] = part[i] * 0.999 + 0.5 / (part[i] + 1.0);
  }
}

double leat_bench_units_per_second(void) {
  double most = 0;
  for (int i = 0; i < kTries; ++i) {
    const double start = cpu_seconds();
    double spent = 0;
    std::int64_t units = 0;
    for (; spent < kTrySeconds; units += 256, spent = cpu_seconds() - start) leat_bench_work(256);
    most = std::max(most, static_cast<double>(units) / spent);
  }
  return most;
}

void leat_bench_make_base(double* base, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = i % 4096;
    const std::uint32_t noise = static_cast<std::uint32_t>(i) * 2654435761u >> 22;
    base[i] = static_cast<double>(at * (4096 - at)) / 4096 + noise / 1024.0;
  }
}

void leat_bench_fill(double* field, const double* base, std::int64_t count, std::int64_t rank,
                     std::int64_t ranks, std::int64_t iteration) {
  const double add = 2048.0 * static_cast<double>(rank + ranks * iteration);
  for (std::int64_t i = 0; i < count; ++i) field[i] = base[i] + add;
}
