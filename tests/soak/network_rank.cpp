// SPDX-License-Identifier: Apache-2.0
// A rank of a simulation on several nodes that `make soak` disturbs. In each iteration it takes a parameter, writes two
// variables and signals an event of the run, or not; calls.hpp has how it writes down what it was told.
//
//   network_rank <config> <session> <rank> <ranks> <rank on node> <ranks of node> <iterations> <pause in us> <file of calls>
//
//   get    <iteration> dt
//   dt     <iteration> <value that it has got>
//   write  <iteration> <variable>
//   signal <iteration> x
//   end    <iteration> -
//
// All bytes, and what is signalled, follow from SOAK_WORLD, rank, iteration and variable; network_judge.py knows how.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "client-api/api/leat.h"
#include "tests/soak/calls.hpp"
#include "tests/support/test_bytes.hpp"

namespace {

constexpr std::size_t kOwn = 16 << 10, kValues = 8;
constexpr std::uint64_t kOwnSeed = 0, kValuesSeed = 1, kDiceSeed = 2;

class Simulation {
 public:
  Simulation(const leat_ranks& ranks, const char* said) : ranks_(ranks), said_(said) {}

  void run(const char* config, std::int64_t iterations, std::chrono::microseconds pause) {
    const leat_status started =
        said_.make("init - -", [&] { return leat_init_ranks(config, &ranks_); });
    if (started != LEAT_OK) return;
    for (now_ = 0; now_ < iterations; ++now_) {
      std::this_thread::sleep_for(pause);
      iterate();
    }
    said_.make("finalize - -", leat_finalize);
  }

 private:
  void iterate() {
    double dt = 0;
    if (said_.make(words("get") + "dt", [&] { return leat_get_double("dt", &dt); }) == LEAT_OK)
      said_.line(words("dt") + std::to_string(dt) + " LEAT_OK 0 0");
    std::vector<unsigned char> own(kOwn);
    leat::test::fill(own.data(), own.size(), seed(kOwnSeed));
    said_.make(words("write") + "own", [&] { return leat_write("own", own.data()); });
    const std::vector<double> t = values();
    said_.make(words("write") + "t", [&] { return leat_write("t", t.data()); });
    unsigned char dice = 0;
    leat::test::fill(&dice, 1, seed(kDiceSeed));
    if (dice % 3 == 0) said_.make(words("signal") + "x", [] { return leat_signal("x"); });
    said_.make(words("end") + "-", leat_end_iteration);
  }

  // Of many magnitudes, none of them infinite or not a number.
  std::vector<double> values() const {
    std::vector<std::uint64_t> bits(kValues);
    leat::test::fill(bits.data(), 8 * kValues, seed(kValuesSeed));
    std::vector<double> made;
    for (const std::uint64_t each : bits)
      made.push_back(
          std::ldexp(static_cast<std::int32_t>(each), static_cast<int>(each >> 32 & 31) - 16));
    return made;
  }

  std::uint64_t seed(std::uint64_t variable) const {
    return 1 + 1'000'000'007 * static_cast<std::uint64_t>(world_) +
           1'000'003 * static_cast<std::uint64_t>(now_) +
           101 * static_cast<std::uint64_t>(ranks_.rank) + variable;
  }

  std::string words(const char* kind) const {
    return std::string(kind) + " " + std::to_string(now_) + " ";
  }

  leat_ranks ranks_;
  leat::soak::Calls said_;
  std::int64_t now_ = 0;
  const std::int64_t world_ = leat::soak::asked("SOAK_WORLD");
};

}  // namespace

int main(int count, char** words) {
  if (count != 10) return 2;
  leat_ranks ranks{};
  ranks.struct_size = sizeof ranks;
  ranks.session = words[2];
  ranks.rank = std::atoi(words[3]);
  ranks.size = std::atoi(words[4]);
  ranks.node_rank = std::atoi(words[5]);
  ranks.node_size = std::atoi(words[6]);
  Simulation(ranks, words[9])
      .run(words[1], std::atoll(words[7]), std::chrono::microseconds(std::atoll(words[8])));
  return 0;
}
