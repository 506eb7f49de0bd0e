// SPDX-License-Identifier: Apache-2.0
#include "lib/os/process.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::os {
namespace {

struct Life {
  char state = 'X';  // as in /proc/<pid>/stat; X: there is no such process
  std::uint64_t start = 0;
};

Life life_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string text;
  std::getline(file, text, '\0');                // iterators would throw where it ends just then
  const std::size_t name_end = text.rfind(')');  // a name may hold anything, brackets too
  Life life;
  if (name_end == std::string::npos) return life;
  std::istringstream fields(text.substr(name_end + 1));
  fields >> life.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  fields >> life.start;
  return life;
}

}  // namespace

std::uint64_t this_space() noexcept {
  struct stat space {};
  return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

// By "self": /proc may be that of the namespace around ours, with another number for this process.
ProcessId this_process() { return {getpid(), life_of("self").start, this_space()}; }

bool lives(const ProcessId& process) {
  if (process.space != 0 && process.space != this_space()) return false;
  const Life life = life_of(std::to_string(process.pid));
  return life.state != 'X' && life.state != 'Z' && life.start == process.start;
}

std::int64_t time_of_start(const ProcessId& process) noexcept {
  timespec now{}, up{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &up);
  const auto ticks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return now.tv_sec - up.tv_sec + static_cast<std::int64_t>(process.start / ticks);
}

}  // namespace leat::os

extern "C" char** environ;
// A library that was loaded before all others (RTLD_DEEPBIND) finds that of libc, which is none where the program itself names `environ`.
static char** variables_of_process() {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  auto*** const of_program =
      program ? reinterpret_cast<char***>(dlsym(program, "environ")) : nullptr;
  char** const all = of_program ? *of_program : environ;
  if (program) dlclose(program);
  return all;
}

namespace leat::os {
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

void plan_signals(SpawnPlan& plan, std::initializer_list<int> blocked) {
  sigset_t mask, all;
  sigemptyset(&mask);
  for (const int each : blocked) sigaddset(&mask, each);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&plan.attributes, &mask);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setflags(&plan.attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

Error no_descriptor(const std::string& program) {
  const int why = errno;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return Error{Status::ERROR_SYSTEM,
               "cannot start " + program + ": " + errno_text(why) + "; this process may have " +
                   std::to_string(limit.rlim_cur) + " files open (ulimit -n)"};
}

Result<pid_t> start_with(const std::vector<std::string>& arguments,
                         const std::vector<Passed>& passed,
                         const std::vector<std::string>& variables,
                         std::initializer_list<int> blocked) {
  const PreparedProgram program(arguments, passed, variables);
  if (!program.is_whole()) return no_descriptor(arguments[0]);
  SpawnPlan plan;
  plan_signals(plan, blocked);
  posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&plan.actions, 2, 1);
  for (std::size_t i = 0; i < passed.size(); ++i)
    posix_spawn_file_actions_adddup2(&plan.actions, program.copies[i].get(), passed[i].as);
  pid_t pid = -1;
  const int code = posix_spawn(&pid, program.argv[0], &plan.actions, &plan.attributes,
                               program.argv.data(), program.environment.data());
  if (code != 0) {
    return Error{Status::ERROR_SERVER, "cannot start " + arguments[0] + ": " + errno_text(code)};
  }
  return pid;
}

// Of the shared library that this code is in; "" when that is the program itself.
std::filesystem::path own_library() {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&path_beside_program), &info,
              reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) {
    return {};
  }
  std::error_code error;
  return map->l_name[0] ? std::filesystem::canonical(map->l_name, error) : "";
}

// A server may be hosted by a program that is not Leat's.
std::filesystem::path program_folder() {
  std::error_code error;
  const std::filesystem::path beside = own_library().parent_path();
  for (const char* up : {"../bin", "../../bin"}) {
    if (beside.empty()) break;
    const std::filesystem::path folder = beside / up;
    if (std::filesystem::exists(folder / "leatd", error)) return folder.lexically_normal();
  }
  return std::filesystem::path(executable_path()).parent_path();
}

}  // namespace

PreparedProgram::PreparedProgram(const std::vector<std::string>& arguments,
                                 const std::vector<Passed>& to_pass,
                                 const std::vector<std::string>& variables)
    : passed(to_pass) {
  const auto text = [](const std::string& each) { return const_cast<char*>(each.c_str()); };
  std::transform(arguments.begin(), arguments.end(), std::back_inserter(argv), text);
  argv.push_back(nullptr);
  std::transform(variables.begin(), variables.end(), std::back_inserter(environment), text);
  for (char** each = variables_of_process(); each && *each; ++each) environment.push_back(*each);
  environment.push_back(nullptr);
  for (const Passed& each : passed) above = std::max(above, each.as + 1);
  for (const Passed& each : passed) copies.push_back(copy_above(each.descriptor));
}

bool PreparedProgram::is_whole() const noexcept {
  return std::all_of(copies.begin(), copies.end(),
                     [](const UniqueFd& fd) { return static_cast<bool>(fd); });
}

UniqueFd PreparedProgram::copy_above(int descriptor) const noexcept {
  return UniqueFd(fcntl(descriptor, F_DUPFD_CLOEXEC, above));
}

Result<Child> spawn(const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return no_descriptor(arguments[0]);
  UniqueFd reader(ends[0]), writer(ends[1]);
  Result<pid_t> pid = start_with(arguments, {{writer.get(), kReportFd}}, {}, {SIGTERM, SIGINT});
  if (!pid) return pid.error();
  return Child{*pid, std::move(reader)};
}

bool read_report(const Child& child, std::int64_t timeout_ns, std::string* text) {
  if (!is_readable_within(child.report.get(), timeout_ns)) return true;
  char part[1024];
  ssize_t got = 0;
  do {
    got = ::read(child.report.get(), part, sizeof part);
  } while (got < 0 && errno == EINTR);
  if (got > 0) text->append(part, static_cast<std::size_t>(got));
  return got > 0;
}

Result<pid_t> start(const std::vector<std::string>& arguments, const std::vector<Passed>& passed,
                    const std::vector<std::string>& variables) {
  return start_with(arguments, passed, variables, {});
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = getenv("PATH");
  const std::string folders = path ? path : "/usr/bin:/bin";
  for (std::size_t at = 0, end = 0; at <= folders.size(); at = end + 1) {
    end = std::min(folders.find(':', at), folders.size());
    const std::string folder = folders.substr(at, end - at);
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    struct stat found {};
    if (stat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
        access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return "";
}

void close_from(int first) noexcept {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, static_cast<unsigned>(first), UINT_MAX, 0u) == 0) return;
#endif
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  for (int fd = first; fd < static_cast<int>(limit.rlim_cur); ++fd) ::close(fd);
}

bool stand_apart_in_process() noexcept {
  if (unshare(CLONE_FS | CLONE_FILES) != 0) return false;
  close_from(3);
  return true;
}

WithoutSignals::WithoutSignals() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

WithoutSignals::~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void stand_apart() noexcept {
  const UniqueFd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing.get(), stream);
  (void)!chdir("/");
}

bool reap(pid_t child, std::int64_t timeout_ns, int* status) noexcept {
  const Deadline deadline = Deadline::in_ns(timeout_ns);
  for (;;) {
    const pid_t got = waitpid(child, status, WNOHANG);
    // An error means that somebody else took it (a SIGCHLD handler of the simulation): it is gone
    // as well.
    if (got == child || (got < 0 && errno != EINTR)) return true;
    if (deadline.passed()) return false;
    const timespec pause{0, 500'000};
    nanosleep(&pause, nullptr);
  }
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    return "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  }
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

bool ended_with(int status, int code) noexcept {
  return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

bool was_killed(int status) noexcept {
  const int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return by == SIGKILL || by == SIGTERM || by == SIGINT;
}

std::string node_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name) == 0 ? name : "unknown";
}

std::string host_name() {
  const std::string whole = node_name();
  return whole.substr(0, whole.find('.'));
}

std::string current_folder() {
  char path[PATH_MAX];
  return getcwd(path, sizeof path) ? path : "";
}

std::string executable_path() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

std::string path_beside_program(const std::string& relative) {
  return (program_folder() / relative).lexically_normal().string();
}

bool call_in_forked_children(void (*function)()) noexcept {
  return pthread_atfork(nullptr, nullptr, function) == 0;
}

// With the limit that a user can raise.
std::string errno_text(int code) {
  const std::string text = std::generic_category().message(code);
  rlimit limit{};
  if (code != EFBIG || getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return text;
  return text + " (`ulimit -f` allows " + std::to_string(limit.rlim_cur / 1024) +
         " KiB for a file, or shared memory)";
}

}  // namespace leat::os
