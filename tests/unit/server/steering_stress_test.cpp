// SPDX-License-Identifier: Apache-2.0
// Ranks at full speed while values are set at random moments, as threads (also under the thread
// sanitizer) and as processes that are killed and stopped: every rank must see every value in the
// same iteration.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "lib/os/clock.hpp"
#include "server/state/parameters/steering.hpp"
#include "tests/unit/server/steered_run.hpp"

namespace leat::server {
namespace {

constexpr std::uint32_t kClients = 4;
constexpr std::int64_t kIterations = 100'000;
constexpr std::int64_t kFar = 256;   // that ranks run ahead of each other
constexpr std::size_t kFewest = 20;  // values, for a test to say anything
constexpr std::size_t kMostSeen = 200'000;
constexpr std::int64_t kTooLong = 60'000'000'000;
constexpr unsigned kMostSeconds = 300;  // of a process, whatever becomes of the test

// The n-th value that is set, as each kind of parameter; texts show a mixture of two.
std::string numbered(std::int64_t n) {
  std::string text;
  while (text.size() < static_cast<std::size_t>(n % 200)) text += std::to_string(n) + ",";
  return text + std::to_string(n);
}

Steering::Value value_of(std::uint32_t parameter, std::int64_t n) {
  if (parameter == kCount) return n;
  if (parameter == kStep) return static_cast<double>(n) / 2;
  return numbered(n);
}

// The n of a value; -1 when it is none that was set.
std::int64_t number_of(std::uint32_t parameter, const shm::SteeredValue& value) {
  if (parameter == kCount) return value.integer();
  if (parameter == kStep) return static_cast<std::int64_t>(2 * value.real());
  const std::string text(value.text());
  const std::int64_t n = std::atoll(text.c_str());
  return text == numbered(n) ? n : -1;
}

struct Seen {
  std::int64_t iteration, parameter, n;
  auto operator<=>(const Seen&) const = default;
};

// Written by one process or thread, and read by the test when that has ended.
struct Log {
  std::size_t count;
  Seen seen[kMostSeen];

  void add(const Seen& one) {
    if (count < kMostSeen) seen[count++] = one;
  }
  std::vector<Seen> sorted(std::int64_t before = kIterations) const {
    std::vector<Seen> all(seen, seen + count);
    std::sort(all.begin(), all.end());
    while (!all.empty() && all.back().iteration >= before) all.pop_back();
    return all;
  }
};

// Shared with processes that are forked later; zero.
struct Shared {
  Log of_server;
  Log of_client[kClients];
  std::atomic<std::int64_t> limit;  // of Ahead
  std::atomic<bool> end;
};

using SharedPtr = std::unique_ptr<Shared, void (*)(Shared*)>;

SharedPtr make_shared_memory() {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return {static_cast<Shared*>(memory), [](Shared* p) { munmap(p, sizeof(Shared)); }};
}

// Ranks of a simulation exchange halos: none runs far ahead of the others. At times they go almost
// in step, when a proposal meets most of them; not always, as a wait takes long on a busy machine.
class Ahead {
 public:
  // `limit`, where given: the last iteration that anybody may be in for now.
  explicit Ahead(const shm::Segment& segment, std::vector<std::uint32_t> peers,
                 const std::atomic<std::int64_t>* limit = nullptr)
      : segment_(segment), peers_(std::move(peers)), limit_(limit) {}

  bool is_far(std::int64_t iteration) const {
    if (limit_ && iteration > limit_->load(std::memory_order_relaxed)) return true;
    const std::int64_t far = iteration / kFar % 16 == 0 ? 3 : kFar;
    return std::any_of(peers_.begin(), peers_.end(), [&](std::uint32_t peer) {
      const auto& at = segment_.client(peer).client->iteration;
      return at.load(std::memory_order_relaxed) < iteration - far;
    });
  }

 private:
  const shm::Segment& segment_;
  std::vector<std::uint32_t> peers_;
  const std::atomic<std::int64_t>* limit_;
};

void run_client(const shm::Segment& segment, std::uint32_t index, const Ahead& ahead,
                std::int64_t iterations, Log& log) {
  shm::SteeringReader reader(segment, index);
  for (std::int64_t k = 0; k < iterations; ++k) {
    while (ahead.is_far(k)) std::this_thread::yield();
    reader.enter(k, [&](std::uint32_t parameter, const shm::SteeredValue& value) {
      log.add({k, parameter, number_of(parameter, value)});
    });
  }
}

void note(Steering& steering, Log& log) {
  for (const AuditEntry& entry : steering.take_audit()) {
    if (entry.iteration == AuditEntry::kNever) continue;
    const std::int64_t parameter = entry.parameter == "count"  ? kCount
                                   : entry.parameter == "step" ? kStep
                                                               : kTitle;
    log.add({entry.iteration, parameter, std::atoll(entry.who.c_str())});
  }
}

// Sets values at random moments until `end`.
void steer(Steering& steering, const std::function<bool()>& end, Log& log) {
  const char* const names[] = {"count", "step", "title"};
  std::mt19937 random(7);
  for (std::int64_t n = 1; !end(); ++n) {
    const std::uint32_t parameter = random() % 3;
    const std::string refusal =
        steering.set(names[parameter], value_of(parameter, n), std::to_string(n));
    ASSERT_EQ(refusal, "");
    for (unsigned i = random() % 64; i > 0; --i) {
      steering.advance();
      if (i % 16 == 0) std::this_thread::yield();
    }
    note(steering, log);
  }
}

class SteeringStress : public testing::Test {
 protected:
  void TearDown() override {
    for (const pid_t child : children_) end(child);
    shm::Segment::remove(run_.segment.name());
  }

  pid_t start(const std::function<void()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kMostSeconds);
      body();
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    children_.push_back(child);
    return child;
  }
  // Its exit status, or -1 when it was killed.
  static int wait(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static void end(pid_t child) {
    kill(child, SIGKILL);
    kill(child, SIGCONT);
    waitpid(child, nullptr, 0);
  }
  std::int64_t iteration_of(std::uint32_t client) const {
    return run_.segment.client(client).client->iteration.load();
  }
  bool waits_for(std::uint32_t client, std::int64_t iteration) const {
    const os::Deadline deadline = os::Deadline::in_ns(kTooLong);
    while (iteration_of(client) < iteration && !deadline.passed()) std::this_thread::yield();
    return iteration_of(client) >= iteration;
  }
  // Every value of the ledger in the iteration that the ledger says, and nothing else.
  void expect_same(const Log& server, const Log& client, std::int64_t before) const {
    const std::vector<Seen> published = server.sorted(before), seen = client.sorted(before);
    ASSERT_EQ(seen.size(), published.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      ASSERT_EQ(seen[i].iteration, published[i].iteration) << "value " << published[i].n;
      ASSERT_EQ(seen[i].parameter, published[i].parameter) << "value " << published[i].n;
      ASSERT_EQ(seen[i].n, published[i].n);
    }
  }

  SteeredRun run_{kClients};
  SharedPtr shared_ = make_shared_memory();
  std::vector<pid_t> children_;
};

TEST_F(SteeringStress, FourRanksAtFullSpeedSeeEveryValueInTheSameIteration) {
  const Ahead ahead(run_.segment, {0, 1, 2, 3});
  std::vector<std::jthread> clients;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    clients.emplace_back(
        [&, i] { run_client(run_.segment, i, ahead, kIterations, shared_->of_client[i]); });
  }
  Steering steering(run_.model, run_.segment);
  steer(
      steering, [&] { return iteration_of(0) >= kIterations - 100; }, shared_->of_server);
  clients.clear();
  const std::size_t published = shared_->of_server.sorted().size();
  EXPECT_GT(published, kFewest);
  RecordProperty("values", static_cast<int>(published));
  for (const Log& client : shared_->of_client) expect_same(shared_->of_server, client, kIterations);
}

TEST_F(SteeringStress, ARankThatIsWronglyTakenForDeadMayMissValuesButSeesNoMixtures) {
  const Ahead ahead(run_.segment, {0, 1});
  std::vector<std::jthread> clients;
  for (std::uint32_t i = 0; i < 2; ++i) {
    clients.emplace_back(
        [&, i] { run_client(run_.segment, i, ahead, kIterations, shared_->of_client[i]); });
  }
  Steering steering(run_.model, run_.segment);
  for (const std::uint32_t other : {1, 2, 3}) steering.client_gone(other, 0);
  steer(
      steering, [&] { return iteration_of(0) >= kIterations - 100; }, shared_->of_server);
  clients.clear();
  expect_same(shared_->of_server, shared_->of_client[0], kIterations);
  EXPECT_GT(shared_->of_client[1].count, 0u);
  for (const Seen& one : shared_->of_client[1].sorted()) ASSERT_GE(one.n, 1);
}

TEST_F(SteeringStress, AKilledRankHoldsUpNoLaterValue) {
  constexpr std::int64_t kMoment = 1000, kEnd = kIterations / 2;
  const os::Deadline deadline = os::Deadline::in_ns(kTooLong);
  // Nobody waits for rank 3. However late it is killed, half of the run is left to the others.
  shared_->limit = kEnd / 2;
  const Ahead alone(run_.segment, {0, 1, 2}, &shared_->limit);
  for (std::uint32_t i = 0; i < kClients; ++i) {
    start([&, i] { run_client(run_.segment, i, alone, kEnd, shared_->of_client[i]); });
  }
  Steering steering(run_.model, run_.segment);
  steer(
      steering, [&] { return iteration_of(3) >= kMoment || deadline.passed(); },
      shared_->of_server);
  end(children_.back());
  children_.pop_back();
  steering.client_gone(3, 0);
  const std::size_t before = shared_->of_server.count;
  // A value is set at least once in kFar iterations, however little the test gets of the processor.
  const auto end_of_run = [&] {
    const std::int64_t slowest = std::min({iteration_of(0), iteration_of(1), iteration_of(2)});
    shared_->limit = slowest + kFar;
    return slowest >= kEnd - 100 || deadline.passed();
  };
  steer(steering, end_of_run, shared_->of_server);
  shared_->limit = kEnd;
  for (const pid_t child : children_) EXPECT_EQ(wait(child), 0);
  children_.clear();
  EXPECT_GT(shared_->of_server.sorted(kEnd).size(), before + kFewest);
  for (std::uint32_t i = 0; i < 3; ++i) {
    expect_same(shared_->of_server, shared_->of_client[i], kEnd);
  }
}

TEST_F(SteeringStress, AServerStoppedAtAnyMomentHoldsUpNoRankAndRanksStillAgree) {
  constexpr int kStops = 200;
  constexpr std::int64_t kGoOn = 2 * kFar;  // the others must have gone on too
  const Ahead ahead(run_.segment, {0, 1, 2});
  std::vector<pid_t> clients;
  for (std::uint32_t i = 0; i < 3; ++i) {
    clients.push_back(start([&, i] {
      shm::SteeringReader reader(run_.segment, i);
      for (std::int64_t k = 0; !shared_->end; ++k) {
        while (ahead.is_far(k) && !shared_->end) std::this_thread::yield();
        reader.enter(k, [&](std::uint32_t parameter, const shm::SteeredValue& value) {
          shared_->of_client[i].add({k, parameter, number_of(parameter, value)});
        });
      }
    }));
  }
  const pid_t server = start([&] {
    Steering steering(run_.model, run_.segment);
    steering.client_gone(3, 0);
    steer(
        steering, [&] { return shared_->end || shared_->of_server.count + 1000 > kMostSeen; },
        shared_->of_server);
  });
  std::mt19937 random(11);
  for (int stop = 0; stop < kStops; ++stop) {
    usleep(random() % 2000);
    kill(server, SIGSTOP);
    int status = 0;
    ASSERT_EQ(waitpid(server, &status, WUNTRACED), server);
    if (!WIFSTOPPED(status)) break;
    for (std::uint32_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(waits_for(i, iteration_of(i) + kGoOn)) << "rank " << i << " is held up";
    }
    kill(server, SIGCONT);
  }
  shared_->end = true;
  for (const pid_t child : children_) EXPECT_EQ(wait(child), 0);
  children_.clear();
  const std::int64_t before = std::min({iteration_of(0), iteration_of(1), iteration_of(2)});
  EXPECT_GT(shared_->of_server.sorted(before).size(), kFewest);
  for (std::uint32_t i = 0; i < 3; ++i)
    expect_same(shared_->of_server, shared_->of_client[i], before);
}

}  // namespace
}  // namespace leat::server
