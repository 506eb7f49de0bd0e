// SPDX-License-Identifier: Apache-2.0
// What a checksum adds to leat_write, and to the copy in it. Runs with and without take turns, call
// by call beside memcpy of the same bytes, so that ratios hold on noisy machines.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/os/clock.hpp"
#include "lib/os/crc32c.hpp"
#include "lib/os/memory.hpp"
#include "tests/bench/path_run.hpp"

namespace leat::bench {
namespace {

struct Size {
  std::size_t bytes;
  int iterations;
  int writes_per_iteration;
};

constexpr Size kSizes[] = {{64 << 10, 1000, 4}, {1 << 20, 300, 2}, {16 << 20, 30, 1}};
constexpr int kPairs = 5;
constexpr double kAim = 1.1;

// memcpy with a checksum over that without.
struct Guarded {
  std::size_t bytes;
  std::vector<double> ratios;  // sorted, one per pair of runs
  double median() const { return ratios[ratios.size() / 2]; }
};

void print_aim(const std::string& what, double value) {
  std::printf("  %-52s %6.2f x, aim %.2f: %s\n", what.c_str(), value, kAim,
              value <= kAim ? "reached" : "NOT reached");
  std::fflush(stdout);
}

// The copy alone, into shared memory that is cold (much more of it than the caches hold) or hot,
// with and without the sum in turn: what the checksum itself costs, whatever the server does
// meanwhile.
double copy_ratio(std::size_t bytes, std::size_t room) {
  const std::size_t step = bytes + 192;  // as blocks lie behind their headers
  char* const memory = static_cast<char*>(mmap(nullptr, room, PROT_READ | PROT_WRITE,
                                               MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  if (memory == MAP_FAILED) return 0;
  std::memset(memory, 1, room);
  const std::vector<char> source(bytes, 3);
  std::vector<std::int64_t> plain, summed;
  std::size_t at = 192;
  const auto timed = [&](auto copy, std::vector<std::int64_t>* into) {
    const std::int64_t start = os::now_ns();
    copy(memory + at);
    into->push_back(os::now_ns() - start);
    at = at + 2 * step <= room ? at + step : 192;
  };
  for (int i = 0; i < 801; ++i) {
    timed(
        [&](char* to) {
          std::memcpy(to, source.data(), bytes);
          asm volatile("" : : "r"(to) : "memory");
        },
        &plain);
    timed([&](char* to) { (void)os::copy_crc32c(to, source.data(), bytes); }, &summed);
  }
  munmap(memory, room);
  std::sort(plain.begin(), plain.end());
  std::sort(summed.begin(), summed.end());
  return static_cast<double>(summed[400]) / static_cast<double>(plain[400]);
}

void measure_copies() {
  std::printf("The copy with CRC-32C over memcpy, p50 of 801 each in turn:\n");
  for (const Size& size : kSizes) {
    if (size.bytes > 1 << 20) continue;
    const std::string bytes = format_bytes(size.bytes);
    print_aim(bytes + " into cold memory", copy_ratio(size.bytes, 512 << 20));
    print_aim(bytes + " into hot memory", copy_ratio(size.bytes, 3 * size.bytes));
  }
}

std::optional<double> ratio_with(const char* checksum, const Size& size) {
  Load load;
  load.bytes = size.bytes;
  load.iterations = size.iterations;
  load.writes_per_iteration = size.writes_per_iteration;
  load.processor_time = true;
  const std::optional<PathTimes> times = measure_path(load, checksum, true);
  if (!times) return std::nullopt;
  return times->ratio();
}

bool measure_guarded(std::vector<Guarded>* all) {
  std::printf("\nleat_write with checksum over without, one client, p50:\n");
  for (const Size& size : kSizes) {
    Guarded guarded{size.bytes, {}};
    for (int pair = 0; pair < kPairs; ++pair) {
      const bool first = pair % 2 == 0;  // either kind is first as often as the other
      const std::optional<double> a = ratio_with(first ? "crc32c" : "none", size);
      const std::optional<double> b = ratio_with(first ? "none" : "crc32c", size);
      if (!a || !b) return false;
      guarded.ratios.push_back(first ? *a / *b : *b / *a);
    }
    std::sort(guarded.ratios.begin(), guarded.ratios.end());
    print_aim(format_bytes(size.bytes), guarded.median());
    std::printf("  %-52s %6.2f to %.2f in %d pairs of runs\n", "", guarded.ratios.front(),
                guarded.ratios.back(), kPairs);
    all->push_back(guarded);
  }
  return true;
}

int run(const char* json) {
  std::vector<Guarded> all;
  measure_copies();
  if (!measure_guarded(&all)) return 1;
  nlohmann::json rows = nlohmann::json::array();
  for (const Guarded& one : all)
    rows.push_back({{"bytes", one.bytes}, {"checksum_over_none", one.ratios}});
  std::ofstream(json) << rows.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace leat::bench

int main(int count, char** arguments) {
  if (count == 2) return leat::bench::run(arguments[1]);
  std::fprintf(stderr, "usage: leat_checksum_bench JSON\n");
  return 2;
}
