// SPDX-License-Identifier: Apache-2.0
#include "lib/os/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "lib/os/child_process.hpp"
#include "tests/unit/os/durations.hpp"

namespace leat::os {
namespace {

// All that a program started by spawn() writes to its report pipe.
std::string report_of(const std::string& script) {
  Result<Child> child = spawn({"/bin/sh", "-c", script});
  if (!child) return child.error().message;
  std::string text;
  char part[256];
  for (ssize_t got; (got = read(child->report.get(), part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  EXPECT_TRUE(reap(child->pid, 5 * kSecond));
  return text;
}

TEST(Process, ReportsThroughItsPipe) { EXPECT_EQ(report_of("printf ready >&3"), "ready"); }

TEST(Process, ThatEndsWithoutAReportIsSeenAtOnce) { EXPECT_EQ(report_of("exit 3"), ""); }

TEST(Process, InheritsNoBlockedAndNoIgnoredSignals) {
  sigset_t block, before;
  sigemptyset(&block);
  sigaddset(&block, SIGTERM);
  sigprocmask(SIG_BLOCK, &block, &before);
  const auto handler = signal(SIGUSR1, SIG_IGN);
  // The last seven digits: signals 1 to 28. Those of the C library's own stay ignored.
  EXPECT_EQ(report_of("sed -nE 's/^Sig(Blk|Ign):.*(.{7})$/\\2/p' /proc/self/status >&3"),
            "0000000\n0000000\n");
  signal(SIGUSR1, handler);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST(Process, ReadsNothingAndSpeaksOnStandardErrorOnly) {
  EXPECT_EQ(report_of("readlink /proc/self/fd/0 >&3"), "/dev/null\n");
  EXPECT_EQ(report_of("[ \"$(readlink /proc/$$/fd/1)\" = \"$(readlink /proc/$$/fd/2)\" ] && "
                      "printf same >&3"),
            "same");
}

TEST(Process, HasASessionOfItsOwn) {
  Result<Child> child = spawn({"/bin/sh", "-c", "exec sleep 30"});
  ASSERT_TRUE(child);
  EXPECT_EQ(getsid(child->pid), child->pid);
  EXPECT_FALSE(reap(child->pid, 1'000'000));
  kill(child->pid, SIGKILL);
  EXPECT_TRUE(reap(child->pid, 5 * kSecond));
}

TEST(Process, ThatDoesNotExistIsAnError) {
  const Result<Child> child = spawn({"/no/such/program"});
  ASSERT_FALSE(child);
  EXPECT_NE(child.error().message.find("/no/such/program"), std::string::npos);
}

TEST(Process, FindsItsOwnProgram) {
  EXPECT_EQ(std::filesystem::path(executable_path()).filename(), "os_test");
  EXPECT_EQ(path_beside_program("os_test"), executable_path());
}

TEST(Process, ThatSomebodyElseHasReapedCountsAsGone) {
  Result<Child> child = spawn({"/bin/true"});
  ASSERT_TRUE(child);
  EXPECT_TRUE(reap(child->pid, 5 * kSecond));
  EXPECT_TRUE(reap(child->pid, 5 * kSecond));
}

// Between opening what the system says of it and reading that. Some two hundred of the thousand do.
TEST(Process, MayEndWhileOneAsksWhetherItLives) {
  for (int i = 0; i < 1000; ++i) {
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    ASSERT_GT(pid, 0);
    std::atomic<bool> is_gone{false};
    std::thread reaper([&] {
      waitpid(pid, nullptr, 0);
      is_gone = true;
    });
    while (!is_gone) {
      EXPECT_NO_THROW(lives({pid, 0, this_space()}));
      EXPECT_NO_THROW(is_stopped(pid));
    }
    reaper.join();
  }
}

TEST(ErrnoText, IsThatOfTheSystem) { EXPECT_EQ(errno_text(ENOENT), "No such file or directory"); }

}  // namespace
}  // namespace leat::os
