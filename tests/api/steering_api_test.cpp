// SPDX-License-Identifier: Apache-2.0
// What a simulation sees of values that are steered: libleat and leatd as they are, and this test
// in the place of the script that sets values, in leatd's own segment.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "client-api/api/leat.h"
#include "lib/model/reader.hpp"
#include "server/state/parameters/steering.hpp"

namespace leat {
namespace {

constexpr int kRanks = 4, kIterations = 20'000;

class SteeredSimulation : public testing::Test {
 protected:
  leat_status init(int rank, int ranks) const {
    leat_ranks who{};
    who.struct_size = sizeof who;
    who.rank = who.node_rank = rank;
    who.size = who.node_size = ranks;
    who.session = session_.c_str();
    return leat_init_ranks(LEAT_API_XML, &who);
  }

  // The segment of leatd, once there is one with all of its parts.
  shm::Segment attach() const {
    const std::string start = "leat-" + std::to_string(getuid()) + "-" + session_ + "-";
    for (int tries = 0; tries < 60'000; ++tries) {
      for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
        const std::string name = file.path().filename();
        if (name.compare(0, start.size(), start) != 0) continue;
        Result<shm::Segment> segment = shm::Segment::attach("/" + name);
        if (segment) return std::move(*segment);
      }
      usleep(1000);
    }
    throw std::runtime_error("leatd of session " + session_ + " has made no segment");
  }

  static double step() {
    double value = -1;
    EXPECT_EQ(leat_get_double("step", &value), LEAT_OK) << leat_last_error();
    return value;
  }
  static double step_after(int iterations) {
    for (int i = 0; i < iterations; ++i) EXPECT_EQ(leat_end_iteration(), LEAT_OK);
    return step();
  }

  const std::string session_ = "steered-" + std::to_string(getpid());
  const model::Model model_ = *model::read_file(LEAT_API_XML).model;
};

TEST_F(SteeredSimulation, HasASteeredValueFromItsIterationOnAndItsOwnUntilTheNextOne) {
  ASSERT_EQ(init(0, 1), LEAT_OK) << leat_last_error();
  const shm::Segment segment = attach();
  server::Steering steering(model_, segment);
  EXPECT_EQ(steering.set("step", 0.25, "test"), "");
  EXPECT_EQ(step(), 0.1);
  EXPECT_EQ(step_after(1), 0.1);
  EXPECT_EQ(step_after(1), 0.25);
  EXPECT_EQ(leat_set_double("step", 9), LEAT_OK);
  EXPECT_EQ(step(), 9);
  EXPECT_EQ(step_after(2), 9) << "what was steered before comes back";
  EXPECT_EQ(steering.set("step", 0.5, "test"), "");
  EXPECT_EQ(step_after(1), 9);
  EXPECT_EQ(step_after(1), 0.5);
  EXPECT_EQ(leat_finalize(), LEAT_OK) << leat_last_error();
}

TEST_F(SteeredSimulation, HasSteeredIntegersAndTexts) {
  ASSERT_EQ(init(0, 1), LEAT_OK) << leat_last_error();
  const shm::Segment segment = attach();
  server::Steering steering(model_, segment);
  const std::string longest(255, 'x');
  EXPECT_EQ(steering.set("limit", std::int64_t{1} << 60, "test"), "");
  EXPECT_EQ(steering.set("given", longest, "test"), "");
  step_after(2);
  std::int64_t limit = 0;
  std::uint64_t needed = 0;
  char text[256];
  EXPECT_EQ(leat_get_int("limit", &limit), LEAT_OK) << leat_last_error();
  EXPECT_EQ(limit, std::int64_t{1} << 60);
  EXPECT_EQ(leat_get_string("given", text, sizeof text, &needed), LEAT_OK) << leat_last_error();
  EXPECT_EQ(text, longest);
  EXPECT_EQ(needed, 256u);
  EXPECT_EQ(leat_finalize(), LEAT_OK) << leat_last_error();
}

// In each iteration, what a rank had; shared with the processes of the ranks, none of which runs
// far ahead of the others.
struct Steps {
  std::atomic<int> at[kRanks];
  double of[kRanks][kIterations];

  bool is_far_ahead(int iteration) const {
    return std::any_of(std::begin(at), std::end(at),
                       [=](const auto& k) { return k < iteration - 128; });
  }
};

int run_rank(const std::function<leat_status()>& init, Steps& steps, int rank) {
  if (init() != LEAT_OK) return 1;
  for (int k = 0; k < kIterations; ++k) {
    steps.at[rank] = k;
    while (steps.is_far_ahead(k)) std::this_thread::yield();
    if (leat_get_double("step", &steps.of[rank][k]) != LEAT_OK) return 2;
    if (leat_end_iteration() != LEAT_OK) return 3;
  }
  return leat_finalize() == LEAT_OK ? 0 : 4;
}

TEST_F(SteeredSimulation, OnAllItsRanksHasTheSameValueInEachIteration) {
  auto* shared = static_cast<Steps*>(
      mmap(nullptr, sizeof(Steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(fork());
    if (ranks.back() == 0) {
      _exit(run_rank([&] { return init(rank, kRanks); }, *shared, rank));
    }
  }
  const shm::Segment segment = attach();
  server::Steering steering(model_, segment);
  const std::atomic<std::int64_t>& first = segment.client(0).client->iteration;
  for (int n = 1; first < kIterations - 100; ++n) {
    EXPECT_EQ(steering.set("step", n, "test"), "");
    const std::int64_t now = first;
    while (first < std::min<std::int64_t>(now + n % 64, kIterations - 100)) {
      steering.advance();
      std::this_thread::yield();
    }
  }
  for (const pid_t rank : ranks) {
    int status = -1;
    waitpid(rank, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::vector<double> expected(kIterations, 0.1);
  int values = 0;
  for (const server::AuditEntry& entry : steering.take_audit()) {
    if (entry.iteration == server::AuditEntry::kNever || entry.iteration >= kIterations) continue;
    std::fill(expected.begin() + entry.iteration, expected.end(), std::stod(entry.new_value));
    ++values;
  }
  EXPECT_GT(values, 10) << "too few for the test to say anything";
  for (const auto& steps : shared->of) {
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), steps));
  }
  munmap(shared, sizeof(Steps));
}

}  // namespace
}  // namespace leat
