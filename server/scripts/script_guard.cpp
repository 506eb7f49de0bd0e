// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/script_guard.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "lib/platform/child_process.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/process_family.hpp"
#include "lib/platform/stream.hpp"

namespace leat::server {
namespace {

constexpr char kAllIsWell = '.';
constexpr std::int64_t kEndLimitNs = 1'000'000'000;
// One that is being killed may be in the kernel for long, and so may what its scripts have started.
constexpr std::int64_t kSweepLimitNs = 60'000'000'000;

// What warns a whole job does not end it.
void outlive_others() {
  platform::close_from(platform::kReportFd + 1);
  platform::stand_apart();
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) signal(number, SIG_IGN);
}

bool has_ended_well() {
  char word = 0;
  ssize_t got = 0;
  do {
    got = read(platform::kReportFd, &word, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1 && word == kAllIsWell;
}

}  // namespace

ScriptGuard::~ScriptGuard() {
  if (pid_ <= 0) return;
  platform::send_all(line_.get(), &kAllIsWell, 1, platform::now_ns() + kEndLimitNs);
  if (platform::reap(pid_, kEndLimitNs)) return;
  kill(pid_, SIGKILL);  // somebody has stopped it
  platform::reap(pid_, kEndLimitNs);
}

std::string ScriptGuard::ensure() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (pid_ > 0 && !platform::reap(pid_, 0)) return "";
  pid_ = -1;
  Result<std::pair<platform::UniqueFd, platform::UniqueFd>> ends = platform::stream_pair();
  if (!ends) return ends.error().message;
  const Result<pid_t> started = platform::start(
      {platform::path_beside_program("leatd"), "--guard-scripts", std::to_string(getpid())},
      {{ends->second.get(), platform::kReportFd}});
  if (!started) return started.error().message;
  pid_ = *started;
  line_ = std::move(ends->first);
  return "";
}

int guard_scripts(pid_t guarded) {
  outlive_others();
  if (has_ended_well()) return 0;
  // Families are orphaned when their maker is dead, which comes after the end of the line.
  const platform::Deadline deadline = platform::Deadline::in_ns(kSweepLimitNs);
  for (bool any = true; any && !deadline.passed(); platform::pause_shortly()) {
    const bool is_dead = getppid() != guarded;
    any = platform::end_orphaned_families() > 0 || !is_dead;
  }
  return 0;
}

}  // namespace leat::server
