// SPDX-License-Identifier: Apache-2.0
#include "lib/os/child_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <vector>

#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/process.hpp"

namespace leat::os {
namespace {

namespace fs = std::filesystem;

// Those of the process's main thread may be others: a server on a thread of a simulation has its own.
const std::string kOwnFiles = "/proc/thread-self/fd/";

std::string folder_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

std::string target_of(const std::string& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  return error ? "" : target.string();
}

// The flags that an fdinfo has, in octal digits.
bool is_for_writing(const std::string& fdinfo) {
  std::ifstream file(fdinfo);
  for (std::string word; file >> word;) {
    unsigned flags = 0;
    if (word != "flags:" || !(file >> std::oct >> flags)) continue;
    return (flags & O_ACCMODE) != O_RDONLY;
  }
  return false;
}

bool is_own(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && facts.st_uid == geteuid();
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  return names;
}

}  // namespace

std::vector<std::string> arguments_of(pid_t pid) {
  std::ifstream file(folder_of(pid) + "/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::int64_t processor_time_of(pid_t pid) noexcept {
  clockid_t clock{};
  timespec time{};
  if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return 0;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool is_stopped(pid_t pid) {
  std::ifstream file(folder_of(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');                // iterators would throw where it ends just then
  const std::size_t name_end = text.rfind(')');  // a name may hold anything, brackets too
  const char state = name_end + 2 < text.size() ? text[name_end + 2] : '?';
  return name_end != std::string::npos && (state == 'T' || state == 't');
}

// Lines like "3: FLOCK  ADVISORY  WRITE 4711 00:19:1234 0 EOF", with the device in hexadecimal.
pid_t holder_of_lock(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return 0;
  std::ifstream file("/proc/locks");
  for (std::string line; std::getline(file, line);) {
    int pid = 0;
    unsigned major_part = 0, minor_part = 0;
    unsigned long long inode = 0;
    const bool is_flock = sscanf(line.c_str(), "%*s FLOCK %*s %*s %d %x:%x:%llu", &pid, &major_part,
                                 &minor_part, &inode) == 4;
    if (is_flock && inode == facts.st_ino && makedev(major_part, minor_part) == facts.st_dev)
      return pid;
  }
  return 0;
}

std::vector<std::string> targets_open_for_writing() {
  std::set<std::string> targets, streams;
  for (const std::string stream : {"0", "1", "2"}) streams.insert(target_of(kOwnFiles + stream));
  for (const std::string& fd : names_in(kOwnFiles)) {
    const std::string target = target_of(kOwnFiles + fd);  // of a socket it is no path
    if (!target.starts_with('/') || streams.count(target) > 0) continue;
    if (is_for_writing("/proc/thread-self/fdinfo/" + fd)) targets.insert(target);
  }
  return {targets.begin(), targets.end()};
}

std::vector<pid_t> processes_called(const std::string& program) {
  std::vector<pid_t> found;
  for (const std::string& name : names_in("/proc")) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || *end != '\0' || !is_own(folder_of(pid))) continue;
    const std::vector<std::string> words = arguments_of(pid);
    if (!words.empty() && fs::path(words[0]).filename() == program) found.push_back(pid);
  }
  return found;
}

namespace {

constexpr const char* kName = "LEAT_WORKER=";
constexpr std::size_t kMostEnvironment = std::size_t{4} << 20;

struct Seen {
  pid_t pid = 0, parent = 0, session = 0;
  char state = '?';
  std::uint64_t start = 0;
};

std::string content_of(const std::string& path, std::size_t most) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char part[16384];
  while (fd && text.size() < most) {
    const ssize_t got = read(fd.get(), part, sizeof part);
    if (got <= 0) break;
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

// False when it is gone. The name in parentheses may hold anything.
bool look_at(pid_t pid, Seen* seen) {
  const std::string text = content_of(folder_of(pid) + "/stat", 4096);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return false;
  seen->pid = pid;
  int group = 0;
  unsigned long long start = 0;
  const int read = sscanf(text.c_str() + name_end + 1,
                          " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                          "%*d %*d %llu",
                          &seen->state, &seen->parent, &group, &seen->session, &start);
  seen->start = start;
  return read == 5;
}

// Processes of this user, dead ones included: they are parents still.
std::vector<Seen> own_processes() {
  std::vector<Seen> all;
  DIR* const folder = opendir("/proc");
  if (!folder) return all;
  while (const dirent* entry = readdir(folder)) {
    char* end = nullptr;
    const long pid = strtol(entry->d_name, &end, 10);
    struct stat found {};
    if (pid <= 0 || *end != '\0' || stat(folder_of(static_cast<pid_t>(pid)).c_str(), &found) != 0 ||
        found.st_uid != geteuid())
      continue;
    Seen seen;
    if (look_at(static_cast<pid_t>(pid), &seen)) all.push_back(seen);
  }
  closedir(folder);
  return all;
}

// The mark in its environment; "" when there is none.
std::string mark_of(pid_t pid) {
  std::string text = content_of(folder_of(pid) + "/environ", kMostEnvironment);
  text.insert(text.begin(), '\0');
  const std::size_t at = text.find(std::string(1, '\0') + kName);
  if (at == std::string::npos) return "";
  return text.substr(at + 1, text.find('\0', at + 1) - at - 1);
}

// Those of whom `begins` says so, and all who descend from them.
std::vector<Seen> family_of(const std::function<bool(const Seen&)>& begins) {
  const std::vector<Seen> all = own_processes();
  std::set<pid_t> members;
  for (const Seen& each : all) {
    if (begins(each)) members.insert(each.pid);
  }
  for (bool grown = !members.empty(); std::exchange(grown, false);) {
    for (const Seen& each : all) {
      if (members.count(each.parent)) grown = members.insert(each.pid).second || grown;
    }
  }
  std::vector<Seen> family;
  std::copy_if(all.begin(), all.end(), std::back_inserter(family),
               [&](const Seen& each) { return members.count(each.pid) && each.state != 'Z'; });
  return family;
}

int kill_all(const std::vector<Seen>& family) {
  for (const Seen& each : family) kill(each.pid, SIGKILL);
  return static_cast<int>(family.size());
}

// Process ids mean nothing in another container.
unsigned long long pid_namespace() {
  struct stat found {};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

bool has_lost_its_maker(const Seen& seen) {
  const std::string mark = mark_of(seen.pid);
  unsigned long long space = 0, start = 0;
  int maker = 0;
  if (mark.empty() || seen.state == 'Z' ||
      sscanf(mark.c_str() + std::char_traits<char>::length(kName), "%llu.%d.%llu.", &space, &maker,
             &start) != 3)
    return false;
  return space == pid_namespace() && !lives({maker, start});
}

}  // namespace

std::string family_mark() {
  static std::atomic<unsigned> made{0};
  const ProcessId self = this_process();
  return kName + std::to_string(pid_namespace()) + "." + std::to_string(self.pid) + "." +
         std::to_string(self.start) + "." + std::to_string(++made);
}

bool end_family(pid_t leader, const std::string& mark, std::int64_t limit_ns) {
  const Deadline deadline = Deadline::in_ns(limit_ns);
  // Who descends from it is known only as long as it lives: all who were ever seen are waited for.
  std::set<std::pair<pid_t, std::uint64_t>> known;
  const auto is_member = [&](const Seen& seen) {
    return seen.pid == leader || seen.session == leader || known.count({seen.pid, seen.start}) ||
           mark_of(seen.pid) == mark;
  };
  std::vector<Seen> family = family_of(is_member);
  kill(-leader, SIGKILL);
  while (kill_all(family) > 0) {
    if (deadline.passed()) return false;
    for (const Seen& each : family) known.emplace(each.pid, each.start);
    pause_shortly();
    family = family_of(is_member);
  }
  return true;
}

int end_orphaned_families() { return kill_all(family_of(has_lost_its_maker)); }

namespace {

constexpr std::int64_t kExecLimitNs = 120'000'000'000;
constexpr std::int64_t kReapLimitNs = 5'000'000'000;

// In the child. Async-signal-safe calls only. The death signal comes first; a parent that died
// before it was asked for has left us to another one. `report` is closed by exec, or says why there is none.
[[noreturn]] void exec_in_child(const PreparedProgram& program, int nothing, int report,
                                pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setsid();
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  dup2(nothing, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
#ifdef SYS_close_range
  // What the process that hosts a server has open is not the child's. 4: when it is the program.
  syscall(SYS_close_range, static_cast<unsigned>(program.above), ~0U, 4U);
#endif
  for (std::size_t i = 0; i < program.passed.size(); ++i)
    dup2(program.copies[i].get(), program.passed[i].as);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(program.argv[0], program.argv.data(), program.environment.data());
  const int why = errno;
  const ssize_t written = write(report, &why, sizeof why);
  (void)written;
  _exit(127);
}

// A fork, not posix_spawn: that holds its caller in the kernel until the child is the program, so a
// child that is stopped before would hold it for good.
pid_t fork_into(const PreparedProgram& program, int nothing, int report) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of ours runs in the child
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) exec_in_child(program, nothing, report, parent);
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
  const PreparedProgram prepared(plan.arguments, plan.passed, plan.variables);
  const UniqueFd nothing =
      prepared.copy_above(UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)).get());
  UniqueFd report = prepared.copy_above(writer.get());
  writer.reset();
  if (!nothing || !report || !prepared.is_whole())
    return Error{Status::ERROR_SYSTEM, "cannot start " + program + ": too many open files"};
  const pid_t child = fork_into(prepared, nothing.get(), report.get());
  if (child < 0)
    return Error{Status::ERROR_SERVER, "cannot start " + program + ": " + errno_text(errno)};
  report.reset();
  int why = 0;
  const Exec exec = await_exec(child, reader.get(), plan.stop_limit_ns, &why);
  if (exec == Exec::done) return child;
  kill(child, SIGKILL);
  reap(child, kReapLimitNs);
  *stopped = exec == Exec::stopped;
  return Error{Status::ERROR_SERVER, *stopped ? program + " was stopped while it was started"
                                              : "cannot start " + program + ": " + errno_text(why)};
}

namespace {

Error system_error(const char* what) {
  return {Status::ERROR_SYSTEM, what + (": " + errno_text(errno))};
}

// Appends what comes till the other side closes. False when that is not before the deadline.
bool read_all(int pipe, std::int64_t deadline_ns, std::string* text) {
  char part[4096];
  for (int ms = left_ms(deadline_ns); ms > 0; ms = left_ms(deadline_ns)) {
    pollfd entry{pipe, POLLIN, 0};
    if (poll(&entry, 1, ms) <= 0) continue;
    const ssize_t got = read(pipe, part, sizeof part);
    if (got == 0 || (got < 0 && errno != EINTR)) return true;
    if (got > 0) text->append(part, static_cast<std::size_t>(got));
  }
  return false;
}

}  // namespace

Result<std::string> run_program(const std::vector<std::string>& arguments, const std::string& input,
                                std::int64_t timeout_ns) {
  // A file, not a pipe: nobody need write while the program writes to us.
  const UniqueFd file = memory_file("leat-input");
  if (!file || !write_at(file.get(), input.data(), input.size(), 0))
    return system_error("cannot pass on the input of a program");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const std::int64_t deadline_ns = now_ns() + timeout_ns;
  const Result<pid_t> pid =
      start(arguments, {{file.get(), STDIN_FILENO}, {writer.get(), STDOUT_FILENO}});
  if (!pid) return pid.error();
  writer.reset();
  std::string output;
  int status = 0;
  const bool in_time = read_all(reader.get(), deadline_ns, &output) &&
                       reap(*pid, std::max<std::int64_t>(0, deadline_ns - now_ns()), &status);
  if (!in_time) {
    kill(-*pid, SIGKILL);  // it leads a session of its own
    reap(*pid, kReapLimitNs);
    return Error{Status::ERROR_TIMEOUT, arguments[0] + " was ended: it took too long"};
  }
  if (status == 0) return output;
  return Error{Status::ERROR_SERVER, arguments[0] + " " + describe_end(status)};
}

}  // namespace leat::os
