// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/platform/clock.hpp"

extern "C" char** environ;

namespace leat::platform {
namespace {

constexpr std::int64_t kExecLimitNs = 120'000'000'000;
constexpr std::int64_t kReapLimitNs = 5'000'000'000;

// All that the child needs, made before there is one: between fork and exec it may not ask for
// memory.
struct Prepared {
  std::vector<char*> argv, environment;
  std::vector<UniqueFd> copies;  // above all targets: one may be the target of another
  UniqueFd nothing, report;      // the report is closed by exec, or says why there is none
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  return pointers;
}

Prepared prepare(const DependentPlan& plan, int report) {
  Prepared made;
  made.argv = pointers_to(plan.arguments);
  made.argv.push_back(nullptr);
  made.environment = pointers_to(plan.variables);
  for (char** each = environ; *each; ++each) made.environment.push_back(*each);
  made.environment.push_back(nullptr);
  int above = 3;
  for (const Passed& each : plan.passed) above = std::max(above, each.as + 1);
  const auto copy = [above](int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, above)); };
  for (const Passed& each : plan.passed) made.copies.push_back(copy(each.descriptor));
  made.nothing = copy(UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)).get());
  made.report = copy(report);
  return made;
}

bool is_whole(const Prepared& made) {
  return made.nothing && made.report &&
         std::all_of(made.copies.begin(), made.copies.end(),
                     [](const UniqueFd& fd) { return static_cast<bool>(fd); });
}

// In the child. Async-signal-safe calls only. The death signal comes first; a parent that died
// before it was asked for has left us to another one.
[[noreturn]] void exec_in_child(const Prepared& made, const std::vector<Passed>& passed,
                                pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setsid();
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  dup2(made.nothing.get(), STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  int above = 3;
  for (const Passed& each : passed) above = each.as < above ? above : each.as + 1;
#ifdef SYS_close_range
  // What the process that hosts a server has open is not the child's. 4: when it is the program.
  syscall(SYS_close_range, static_cast<unsigned>(above), ~0U, 4U);
#endif
  for (std::size_t i = 0; i < passed.size(); ++i) dup2(made.copies[i].get(), passed[i].as);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(made.argv[0], made.argv.data(), made.environment.data());
  const int why = errno;
  const ssize_t written = write(made.report.get(), &why, sizeof why);
  (void)written;
  _exit(127);
}

// A fork, not posix_spawn: that holds its caller in the kernel until the child is the program, so a
// child that is stopped before would hold it for good.
pid_t fork_into(const Prepared& made, const std::vector<Passed>& passed) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of ours runs in the child
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) exec_in_child(made, passed, parent);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return child;
}

// False: nothing but the end came.
bool read_through(int report, int* why) noexcept {
  ssize_t got = 0;
  do {
    got = read(report, why, sizeof *why);
  } while (got < 0 && errno == EINTR);
  return got > 0;
}

enum class Exec { done, failed, stopped };

// Waits till the child is the program. `*why`: the error number of exec.
Exec await_exec(pid_t child, int report, std::int64_t stop_limit_ns, int* why) {
  StopWatch watch(stop_limit_ns);
  const Deadline deadline = Deadline::in_ns(kExecLimitNs);
  *why = ETIMEDOUT;
  while (!deadline.passed()) {
    const ChildState state = state_of_child(child);
    pollfd entry{report, POLLIN, 0};
    if (poll(&entry, 1, static_cast<int>(kGlanceNs / 1'000'000)) > 0) {
      // Closed without a word: it is the program, or has died, which its user will see.
      return read_through(report, why) ? Exec::failed : Exec::done;
    }
    if (watch.too_long(state)) return Exec::stopped;
  }
  return Exec::failed;
}

}  // namespace

ChildState state_of_child(pid_t child) noexcept {
  siginfo_t info{};
  const int asked = WEXITED | WSTOPPED | WNOHANG | WNOWAIT;
  if (waitid(P_PID, static_cast<id_t>(child), &info, asked) != 0)
    return errno == EINTR ? ChildState::runs : ChildState::ended;
  if (info.si_pid == 0) return ChildState::runs;
  return info.si_code == CLD_STOPPED ? ChildState::stopped : ChildState::ended;
}

bool StopWatch::too_long(ChildState state) noexcept {
  const std::int64_t now = now_ns();
  const std::int64_t passed = looked_ns_ == 0 ? 0 : std::min(now - looked_ns_, 2 * kGlanceNs);
  looked_ns_ = now;
  stopped_ns_ = state == ChildState::stopped ? stopped_ns_ + passed : 0;
  return state == ChildState::stopped && stopped_ns_ >= limit_ns_;
}

Result<pid_t> start_dependent(const DependentPlan& plan, bool* stopped) {
  *stopped = false;
  const std::string& program = plan.arguments[0];
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Error{Status::ERROR_SYSTEM, "cannot make a pipe: " + errno_text(errno)};
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  Prepared made = prepare(plan, writer.get());
  writer.reset();
  if (!is_whole(made))
    return Error{Status::ERROR_SYSTEM, "cannot start " + program + ": too many open files"};
  const pid_t child = fork_into(made, plan.passed);
  if (child < 0)
    return Error{Status::ERROR_SERVER, "cannot start " + program + ": " + errno_text(errno)};
  made.report.reset();
  int why = 0;
  const Exec exec = await_exec(child, reader.get(), plan.stop_limit_ns, &why);
  if (exec == Exec::done) return child;
  kill(child, SIGKILL);
  reap(child, kReapLimitNs);
  *stopped = exec == Exec::stopped;
  return Error{Status::ERROR_SERVER, *stopped ? program + " was stopped while it was started"
                                              : "cannot start " + program + ": " + errno_text(why)};
}

}  // namespace leat::platform
