// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/process_id.hpp"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace leat::platform {
namespace {

struct Life {
  char state = 'X';  // as in /proc/<pid>/stat; X: there is no such process
  std::uint64_t start = 0;
};

Life life_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
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

}  // namespace leat::platform
