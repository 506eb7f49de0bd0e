// SPDX-License-Identifier: Apache-2.0
#include "lib/os/child_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"
#include "tests/unit/os/durations.hpp"

namespace leat::os {
namespace {

DependentPlan shell_plan(const std::string& script) { return {{"/bin/sh", "-c", script}}; }

pid_t must_start(const DependentPlan& plan) {
  bool stopped = false;
  const Result<pid_t> child = start_dependent(plan, &stopped);
  EXPECT_TRUE(child) << (child ? "" : child.error().message);
  EXPECT_FALSE(stopped);
  return child ? *child : -1;
}

template <typename Condition>
bool becomes_true(const Condition& condition) {
  for (const Deadline limit = Deadline::in_ns(20 * kSecond); !condition(); pause_shortly()) {
    if (limit.passed()) return false;
  }
  return true;
}

bool is_there(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return !text.empty() && text.find(") Z ") == std::string::npos;
}

// What processes said through descriptor 5.
pid_t number_in(const UniqueFd& file) {
  const std::string text = text_of(file.get(), 100);
  return text.find('\n') == std::string::npos ? 0 : std::stoi(text);
}

TEST(DependentProcess, GetsItsArgumentsVariablesAndDescriptors) {
  const UniqueFd file = memory_file("said");
  DependentPlan plan = shell_plan("echo $SAY >&5; readlink /proc/self/fd/0 >&5; exit 7");
  plan.variables = {"SAY=it"};
  plan.passed = {{file.get(), 5}};
  const pid_t child = must_start(plan);
  int status = 0;
  ASSERT_TRUE(reap(child, 20 * kSecond, &status));
  EXPECT_EQ(describe_end(status), "ended with status 7");
  EXPECT_EQ(text_of(file.get(), 100), "it\n/dev/null\n");
}

TEST(DependentProcess, ThatIsNoProgramIsAnErrorThatNamesIt) {
  bool stopped = true;
  const Result<pid_t> child = start_dependent({{"/no/such/program"}}, &stopped);
  ASSERT_FALSE(child);
  EXPECT_FALSE(stopped);
  EXPECT_EQ(child.error().message, "cannot start /no/such/program: No such file or directory");
}

TEST(DependentProcess, EndsWithTheThreadThatStartedItAlsoWhenItIsStopped) {
  pid_t child = -1;
  std::thread([&child] {
    child = must_start(shell_plan("kill -STOP $$; sleep 1000"));
    EXPECT_TRUE(becomes_true([&] { return state_of_child(child) == ChildState::stopped; }));
  }).join();
  EXPECT_TRUE(becomes_true([&] { return state_of_child(child) == ChildState::ended; }));
  EXPECT_TRUE(reap(child, kSecond));
}

TEST(DependentProcess, ThatIsStoppedForTooLongIsNoticedAndOneThatSleepsIsNot) {
  const pid_t sleeper = must_start(shell_plan("sleep 1000"));
  const pid_t child = must_start(shell_plan("kill -STOP $$"));
  StopWatch of_child(kSecond / 5), of_sleeper(kSecond / 5);
  EXPECT_TRUE(becomes_true([&] {
    EXPECT_FALSE(of_sleeper.too_long(state_of_child(sleeper)));
    return of_child.too_long(state_of_child(child));
  }));
  EXPECT_TRUE(end_family(child, "LEAT_WORKER=none", 5 * kSecond));
  EXPECT_TRUE(end_family(sleeper, "LEAT_WORKER=none", 5 * kSecond));
  EXPECT_TRUE(reap(child, kSecond) && reap(sleeper, kSecond));
}

// Into a session of its own, with a parent that is gone, with another environment.
TEST(ProcessFamily, EndsWhereverItsMembersWent) {
  for (const std::string how :
       {"sleep 1000 & echo $! >&5; wait", "(setsid sh -c 'echo $$ >&5; exec sleep 1000' &)",
        "(exec env -i sh -c 'echo $$ >&5; exec sleep 1000' &)",
        "setsid env -i sh -c 'echo $$ >&5; exec sleep 1000' & wait"}) {
    const UniqueFd file = memory_file("said");
    const std::string mark = family_mark();
    DependentPlan plan = shell_plan(how + "; sleep 1000");
    plan.variables = {mark};
    plan.passed = {{file.get(), 5}};
    const pid_t leader = must_start(plan);
    ASSERT_TRUE(becomes_true([&] { return number_in(file) > 0; })) << how;
    const pid_t member = number_in(file);
    ASSERT_TRUE(is_there(member)) << how;
    EXPECT_TRUE(end_family(leader, mark, 5 * kSecond)) << how;
    EXPECT_FALSE(is_there(member)) << how;
    EXPECT_TRUE(reap(leader, kSecond));
  }
}

TEST(ProcessFamily, OfALivingMakerIsNoOrphan) {
  DependentPlan plan = shell_plan("sleep 1000");
  const std::string mark = family_mark();
  plan.variables = {mark};
  const pid_t child = must_start(plan);
  end_orphaned_families();
  EXPECT_EQ(state_of_child(child), ChildState::runs);
  EXPECT_TRUE(end_family(child, mark, 5 * kSecond));
  EXPECT_TRUE(reap(child, kSecond));
}

}  // namespace
}  // namespace leat::os
