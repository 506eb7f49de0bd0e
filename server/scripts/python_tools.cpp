// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/python_tools.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>

#include "lib/platform/clock.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::server {
namespace {

constexpr std::int64_t kReapLimitNs = 5'000'000'000;

Error system_error(const std::string& what) {
  return {Status::ERROR_SYSTEM, what + ": " + platform::errno_text(errno)};
}

Result<platform::UniqueFd> file_with(const std::string& text) {
  platform::UniqueFd file(memfd_create("leat-input", MFD_CLOEXEC));
  for (std::size_t at = 0; file && at < text.size();) {
    const ssize_t n =
        pwrite(file.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (n <= 0) return system_error("cannot pass on what a Python tool is to do");
    at += static_cast<std::size_t>(n);
  }
  if (!file) return system_error("cannot pass on what a Python tool is to do");
  return file;
}

// Milliseconds for poll(), rounded up; 0 when the deadline has passed.
int left_ms(std::int64_t deadline_ns) {
  const std::int64_t left_ns = deadline_ns - platform::now_ns();
  if (left_ns <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>(left_ns / 1'000'000 + 1, INT_MAX));
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

std::string python_launcher() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(platform::executable_path()).parent_path();
  return (folder / LEAT_PYTHON_FOLDER / "launch.py").lexically_normal().string();
}

Result<std::string> run_python_tool(const std::string& interpreter, const std::string& tool,
                                    const std::string& input, double seconds) {
  Result<platform::UniqueFd> file = file_with(input);
  if (!file) return file.error();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  const platform::UniqueFd reader(ends[0]);
  platform::UniqueFd writer(ends[1]);
  const Result<pid_t> pid =
      platform::start({interpreter, python_launcher(), tool},
                      {{file->get(), STDIN_FILENO}, {writer.get(), STDOUT_FILENO}});
  if (!pid) return pid.error();
  writer.reset();
  std::string output;
  const std::int64_t deadline_ns = platform::now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  const bool in_time = read_all(reader.get(), deadline_ns, &output);
  if (!in_time) kill(-*pid, SIGKILL);  // it leads a session of its own
  int status = 0;
  const bool ended = platform::reap(*pid, kReapLimitNs, &status);
  if (!in_time || !ended) {
    if (!ended) kill(-*pid, SIGKILL);
    return Error{Status::ERROR_TIMEOUT, interpreter + " was ended: it took too long"};
  }
  if (status == 0) return output;
  return Error{Status::ERROR_SERVER, interpreter + " " + platform::describe_end(status)};
}

}  // namespace leat::server
