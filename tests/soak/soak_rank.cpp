// SPDX-License-Identifier: Apache-2.0
// A rank of the simulation that `make soak` disturbs. It computes, hands over its variables in
// every iteration, and writes one line for each call into a file, as calls.hpp has it.
//
//   soak_rank <config> <session> <rank> <ranks> <iterations> <pause in us> <file of what was said>
//
//   write <iteration> <variable> <status> <ns> <late>      or <variable>:<block> of a patch
//   level <iteration> :<block>   <status> <ns> <late>
//   end   <iteration> -          <status> <ns> <late>
//
// All bytes and shapes follow from SOAK_WORLD, rank, iteration and variable; world.py knows how.
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client-api/api/leat.h"
#include "tests/soak/calls.hpp"
#include "tests/support/test_bytes.hpp"

namespace {

using leat::soak::asked;

constexpr std::size_t kSmall = 64, kLarge = 64 << 10, kColumns = 20, kRows = 6, kLeased = 4096;
constexpr std::uint32_t kPatches = 3;  // that a rank has at most in an iteration

class Simulation {
 public:
  Simulation(const leat_ranks& ranks, const char* said) : ranks_(ranks), said_(said) {}

  void run(const char* config, std::int64_t iterations, std::chrono::microseconds pause) {
    const leat_status started = call("init - -", [&] { return leat_init_ranks(config, &ranks_); });
    if (started != LEAT_OK) return;
    for (now_ = 0; now_ < iterations; ++now_) {
      std::this_thread::sleep_for(pause);
      hand_over();
      fill_ring();
      call("end " + std::to_string(now_) + " -", leat_end_iteration);
    }
    call("finalize - -", leat_finalize);
    said_.line("result " + std::to_string(result_));
  }

 private:
  template <class Call>
  leat_status call(const std::string& what, Call make) {
    return said_.make(what, make);
  }

  // What this variable holds in this iteration; world.py has the same.
  std::uint64_t seed(std::uint64_t variable) const {
    return 1 + 1'000'000'007 * static_cast<std::uint64_t>(world_) +
           1'000'003 * static_cast<std::uint64_t>(now_) +
           101 * static_cast<std::uint64_t>(ranks_.rank) + variable;
  }

  std::array<unsigned char, 8> dice(std::uint64_t which) const {
    std::array<unsigned char, 8> thrown;
    leat::test::fill(thrown.data(), thrown.size(), seed(which));
    return thrown;
  }

  void hand_over() {
    if (now_ % 3 == 0) call(named("step"), [&] { return leat_set_int("step", now_); });
    write("small", 0, kSmall);
    write("large", 1, kLarge);
    const std::int64_t length = (7 * now_ + 3 * ranks_.rank) % 61;
    leat_set_extent("ragged", 0, &length);
    write("ragged", 2, 2 * static_cast<std::size_t>(length));
    const std::int64_t position[2] = {static_cast<std::int64_t>(kRows) * ranks_.rank, 0};
    leat_set_position("grid", 0, position);
    write("grid", 3, 8 * (kRows + 2) * kColumns);
    lease();
    write_particles();
    for (std::uint32_t block = 0; block < kPatches; ++block) write_patch(block);
  }

  // Of as many particles in both, mostly, so that they share a dimension in the file until then.
  void write_particles() {
    const auto thrown = dice(40);
    const std::int64_t count[2] = {thrown[0] % 10, 3};
    leat_set_extent("position", 0, count);
    write("position", 5, 12 * static_cast<std::size_t>(count[0]));
    if (thrown[2] == 0) return;
    const std::int64_t kinds = count[0] + (thrown[1] == 0);
    leat_set_extent("kind", 0, &kinds);
    write("kind", 6, 2 * static_cast<std::size_t>(kinds));
  }

  // A patch comes and goes, in both variables or one, and has its level until another is said. In
  // every seventh iteration there is none at all.
  void write_patch(std::uint32_t block) {
    const auto thrown = dice(50 + block);
    if (now_ == 0 || (now_ + block) % 2 == 0) {
      const std::int64_t first_cell[2] = {thrown[3] - 8, thrown[4] - 8};
      call("level " + std::to_string(now_) + " :" + std::to_string(block),
           [&] { return leat_set_level("gas", block, thrown[2] % 4, first_cell); });
    }
    if ((now_ + world_) % 7 == 0) return;
    if (thrown[0] % 2 == 0) write("patch", 10 + block, 8 * 4 * 4, block);
    if (thrown[1] % 3 == 0) return;
    const std::int64_t extent[2] = {thrown[5] % 6, 1 + thrown[6] % 4};
    leat_set_extent("piece", block, extent);
    write("piece", 20 + block, 4 * static_cast<std::size_t>(extent[0] * extent[1]), block);
  }

  // Values of parameters are events too: so many for each iteration, as long as there is room.
  void fill_ring() {
    for (std::int64_t i = 0; i < filler_ && leat_set_int("filler", i) == LEAT_OK; ++i) {
    }
  }

  std::string named(const char* name) const { return "write " + std::to_string(now_) + " " + name; }

  // The array is the simulation's: what is in it afterwards is its result.
  void write(const char* name, std::uint64_t variable, std::size_t bytes,
             std::optional<std::uint32_t> block = {}) {
    std::vector<unsigned char> data(bytes + 1);
    leat::test::fill(data.data(), bytes, seed(variable));
    call(named(name) + (block ? ":" + std::to_string(*block) : ""),
         [&] { return leat_write_block(name, block.value_or(0), data.data()); });
    for (const unsigned char byte : data) result_ = result_ * 31 + byte;
  }

  void lease() {
    call(named("leased"), [&] {
      void* data = nullptr;
      const leat_status status = leat_alloc("leased", &data);
      if (status != LEAT_OK) return status;
      leat::test::fill(data, kLeased, seed(4));
      return leat_commit("leased");
    });
  }

  leat_ranks ranks_;
  leat::soak::Calls said_;
  std::int64_t now_ = 0;
  std::uint64_t result_ = 0;
  const std::int64_t filler_ = asked("SOAK_FILLER"), world_ = asked("SOAK_WORLD");
};

}  // namespace

int main(int count, char** words) {
  if (count != 8) return 2;
  leat_ranks ranks{};
  ranks.struct_size = sizeof ranks;
  ranks.rank = ranks.node_rank = std::atoi(words[3]);
  ranks.size = ranks.node_size = std::atoi(words[4]);
  ranks.session = words[2];
  Simulation(ranks, words[7])
      .run(words[1], std::atoll(words[5]), std::chrono::microseconds(std::atoll(words[6])));
  return 0;
}
