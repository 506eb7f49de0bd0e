// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/view_program.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "server/plugins/common/descriptor.hpp"

namespace leat::hdf5 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kKinds[] = {"make", "last", "rest"};
constexpr std::chrono::seconds kReapLimit(2);
constexpr std::chrono::milliseconds kReapPause(5);
constexpr const char kDone[] = "done\n";  // its last words when all is well

std::string program() {
  Dl_info plugin{};
  if (dladdr(reinterpret_cast<const void*>(&make_view_outside), &plugin) == 0)
    throw std::runtime_error("the folder of the hdf5 plugin is not known");
  return std::filesystem::path(plugin.dli_fname).parent_path() / "view-hdf5";
}

// As a program that a shell starts: no signal blocked or ignored, and no file of the server's open.
struct Circumstances {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;

  explicit Circumstances(int output) {
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&files);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
#endif
#endif
  }
  Circumstances(const Circumstances&) = delete;
  ~Circumstances() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
  }
};

pid_t start(std::vector<std::string> words, int output) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  Circumstances circumstances(output);
  pid_t process = 0;
  const int code = posix_spawn(&process, arguments[0], &circumstances.files,
                               &circumstances.attributes, arguments.data(), environ);
  if (code != 0) throw std::runtime_error("cannot start " + words[0] + ": " + std::strerror(code));
  return process;
}

// All that it writes but its signs of life, up to `end`; false when it has not ended by then.
bool listen(int output, Clock::time_point end, const std::function<void()>& progress,
            std::string* said) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd one{output, POLLIN, 0};
    const int ready = left > 0 ? ::poll(&one, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char piece[512];
    const ssize_t got = ::read(output, piece, sizeof piece);
    if (got <= 0) return got == 0;
    said->append(piece, static_cast<std::size_t>(got));
    if (std::erase(*said, '\0') > 0) progress();
  }
}

bool ends_with_done(const std::string& said) {
  const std::size_t length = std::strlen(kDone);
  return said.size() >= length && said.compare(said.size() - length, length, kDone) == 0;
}

std::vector<std::string> lines_before_done(const std::string& said) {
  std::vector<std::string> lines;
  std::istringstream text(said.substr(0, said.size() - std::strlen(kDone)));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// Of a process that ended without a word. A server that takes its children itself leaves nothing.
std::string described_end(int status) {
  if (WIFSIGNALED(status))
    return std::string("the HDF5 library crashed (") + strsignal(WTERMSIG(status)) +
           ") over its parts: one is damaged, `leat ls` on each says which";
  return "the program that makes views ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::vector<std::string> make_view_outside(const ViewOrder& order, std::chrono::seconds limit,
                                           const std::function<void()>& progress) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
  const Descriptor from_it(pipe_ends[0]);
  Descriptor to_us(pipe_ends[1]);
  const pid_t process = start(
      {program(), order.folder, order.path, kKinds[static_cast<int>(order.kind)], order.maker},
      to_us);
  to_us = Descriptor();
  std::string said;
  const bool ended = listen(from_it, Clock::now() + limit, progress, &said);
  if (!ended) ::kill(process, SIGKILL);
  int status = 0;
  // A killed process in a call that hangs, as of a dead file server, ends with that call: whoever
  // takes up children later takes this one up.
  const auto until = Clock::now() + kReapLimit;
  for (pid_t gone = 0; gone == 0 || (gone < 0 && errno == EINTR);) {
    gone = ::waitpid(process, &status, ended ? 0 : WNOHANG);
    if (gone != 0) continue;
    if (Clock::now() > until) break;
    std::this_thread::sleep_for(kReapPause);
  }
  if (!ended)
    throw std::runtime_error("the HDF5 library has not come to an end with its parts in " +
                             std::to_string(limit.count()) +
                             " seconds: one is damaged, `leat ls` on each says which");
  if (ends_with_done(said)) return lines_before_done(said);
  if (said.empty()) throw std::runtime_error(described_end(status));
  said.resize(said.find('\n') == std::string::npos ? said.size() : said.find('\n'));
  throw std::runtime_error(said);
}

}  // namespace leat::hdf5
