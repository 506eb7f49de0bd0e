// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/run_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/platform/clock.hpp"
#include "lib/platform/memory_file.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::platform {
namespace {

constexpr std::int64_t kReapLimitNs = 5'000'000'000;

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

}  // namespace leat::platform
