// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/job/cpu_time.hpp"

#include <sys/resource.h>
#include <time.h>

#include <fstream>
#include <string>

namespace leat::bench {
namespace {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

double thread_cpu_seconds() { return seconds(CLOCK_THREAD_CPUTIME_ID); }
double process_cpu_seconds() { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

double cpu_seconds_of(pid_t pid) {
  clockid_t clock{};
  return clock_getcpuclockid(pid, &clock) == 0 ? seconds(clock) : 0;
}

long voluntary_switches() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
}

pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  // "pid (name) state parent ...", and a name may have anything in it.
  const std::size_t end = text.rfind(')');
  return end == std::string::npos ? -1 : static_cast<pid_t>(std::stol(text.substr(end + 4)));
}

}  // namespace leat::bench
