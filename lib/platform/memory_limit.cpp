// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/memory_limit.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace leat::platform {
namespace {

constexpr std::uint64_t kNoLimit = UINT64_MAX;

// Names of the files of one version.
struct Version {
  const char* limit;
  const char* usage;
  const char* cached[2];  // lines of memory.stat
};
constexpr Version kFirst{
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
constexpr Version kSecond{"memory.max", "memory.current", {"inactive_file", "active_file"}};

std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;  // "max" too
}

std::uint64_t cached_in(const std::string& group, const Version& version) {
  std::ifstream file(group + "/memory.stat");
  std::uint64_t sum = 0, bytes = 0;
  for (std::string name; file >> name >> bytes;) {
    if (name == version.cached[0] || name == version.cached[1]) sum += bytes;
  }
  return sum;
}

std::uint64_t room_in(const std::string& group, const Version& version) {
  const std::optional<std::uint64_t> limit = number_in(group + "/" + version.limit);
  const std::optional<std::uint64_t> usage = number_in(group + "/" + version.usage);
  if (!limit || !usage || *limit > kNoLimit / 4) return kNoLimit;
  const std::uint64_t used = *usage - std::min(*usage, cached_in(group, version));
  return *limit - std::min(*limit, used);
}

// A container may see its own group as the root, whatever path the kernel names.
std::uint64_t least_room(const std::string& root, std::string path, const Version& version) {
  std::uint64_t room = kNoLimit;
  for (;;) {
    room = std::min(room, room_in(root + path, version));
    if (path.empty()) return room;
    path.erase(path.find_last_of('/'));
  }
}

}  // namespace

std::uint64_t memory_room_in(const std::string& groups, const std::string& folder) {
  std::istringstream lines(groups);
  std::uint64_t room = kNoLimit;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(":/", first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (kinds == ",,") room = std::min(room, least_room(folder, path, kSecond));
    if (kinds.find(",memory,") != std::string::npos)
      room = std::min(room, least_room(folder + "/memory", path, kFirst));
  }
  return room;
}

std::uint64_t memory_room() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream groups;
  groups << file.rdbuf();
  return memory_room_in(groups.str(), "/sys/fs/cgroup");
}

}  // namespace leat::platform
