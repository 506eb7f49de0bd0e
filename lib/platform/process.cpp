// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <cerrno>
#include <climits>
#include <system_error>

#include "lib/platform/clock.hpp"

extern "C" char** environ;

namespace leat::platform {
namespace {

// The attributes and actions of posix_spawn, freed on every path.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

void plan_signals(SpawnPlan& plan) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setflags(&plan.attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

}  // namespace

std::string errno_text(int code) { return std::generic_category().message(code); }

Result<Child> spawn(const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Error{Status::ERROR_SYSTEM, "cannot make a pipe: " + errno_text(errno)};
  }
  UniqueFd reader(ends[0]), writer(ends[1]);
  // Should the pipe itself be descriptor kReportFd, dup2 onto itself would keep it close-on-exec.
  if (writer.get() == kReportFd) writer = UniqueFd(fcntl(writer.get(), F_DUPFD_CLOEXEC, 10));

  SpawnPlan plan;
  plan_signals(plan);
  posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&plan.actions, 2, 1);
  posix_spawn_file_actions_adddup2(&plan.actions, writer.get(), kReportFd);

  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  Child child;
  const int code =
      posix_spawn(&child.pid, argv[0], &plan.actions, &plan.attributes, argv.data(), environ);
  if (code != 0) {
    return Error{Status::ERROR_SERVER, "cannot start " + arguments[0] + ": " + errno_text(code)};
  }
  child.report = std::move(reader);
  return child;
}

void close_from(int first) noexcept {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, static_cast<unsigned>(first), UINT_MAX, 0u) == 0) return;
#endif
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  for (int fd = first; fd < static_cast<int>(limit.rlim_cur); ++fd) ::close(fd);
}

bool reap(pid_t child, std::int64_t timeout_ns) noexcept {
  const Deadline deadline = Deadline::in_ns(timeout_ns);
  for (;;) {
    const pid_t got = waitpid(child, nullptr, WNOHANG);
    // An error means that somebody else took it (a SIGCHLD handler of the simulation): it is gone as well.
    if (got == child || (got < 0 && errno != EINTR)) return true;
    if (deadline.passed()) return false;
    const timespec pause{0, 500'000};
    nanosleep(&pause, nullptr);
  }
}

std::string executable_path() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace leat::platform
