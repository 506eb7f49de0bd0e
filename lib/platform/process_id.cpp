// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/process_id.hpp"

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

Life life_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
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

ProcessId this_process() { return {getpid(), life_of(getpid()).start}; }

bool lives(const ProcessId& process) {
  const Life life = life_of(process.pid);
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
