// SPDX-License-Identifier: Apache-2.0
#include "lib/os/limits.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "lib/os/descriptor.hpp"
#include "lib/os/memory.hpp"

namespace leat::os {
namespace {

constexpr rlim_t kUseful = 65536;

}  // namespace

std::uint64_t most_descriptors() noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 64;
}

std::uint64_t descriptors_to_be_had() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_max;
}

void allow_more_descriptors() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kUseful) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kUseful));
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::uint64_t most_address_space() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

std::uint64_t most_locked_memory() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

std::uint64_t address_space() noexcept {
  const UniqueFd facts(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[64] = {};
  if (!facts || read(facts.get(), text, sizeof text - 1) <= 0) return 0;
  return std::strtoull(text, nullptr, 10) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string limit_hint() {
  const std::uint64_t most = most_address_space();
  if (most == UINT64_MAX) return "";
  return "; the address space of a process is limited to " + format_bytes(most) + " (ulimit -v)";
}

}  // namespace leat::os
