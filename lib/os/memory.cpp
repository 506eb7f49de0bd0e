// SPDX-License-Identifier: Apache-2.0
#include "lib/os/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include "lib/os/process.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace leat::os {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "/dev/shm";

// What segments of Leat's other than `fd` have yet to take of what they are to have.
std::uint64_t promised_to_others(int fd) {
  struct stat own {};
  fstat(fd, &own);
  std::uint64_t promised = 0;
  std::error_code ignored;
  for (fs::directory_iterator each(kFolder, ignored), end; each != end; each.increment(ignored)) {
    struct stat info {};
    if (each->path().filename().string().rfind("leat-", 0) != 0) continue;
    if (lstat(each->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (info.st_ino == own.st_ino) continue;
    const std::uint64_t size = static_cast<std::uint64_t>(info.st_size);
    promised += size - std::min(size, static_cast<std::uint64_t>(info.st_blocks) * 512);
  }
  return promised;
}

// One that has no limit has 0 blocks.
bool has_room_for(std::uint64_t bytes, std::uint64_t promised) noexcept {
  struct statvfs info {};
  if (statvfs(kFolder, &info) != 0 || info.f_blocks == 0) return true;
  const std::uint64_t free = shared_memory_free();
  return free >= promised && free - promised >= bytes;
}

Error too_little(std::uint64_t bytes, std::uint64_t promised) {
  const auto both = [](std::uint64_t b) {
    return format_bytes(b) + " (" + std::to_string(b) + " bytes)";
  };
  const std::string others =
      promised > 0 ? ", of which other runs of Leat have yet to take " + both(promised) : "";
  return {Status::ERROR_MEMORY,
          "the segment needs " + both(bytes) + " of shared memory, but /dev/shm has " +
              both(shared_memory_free()) + " free" + others +
              ": make <buffer size=\"...\"/> smaller, or /dev/shm larger "
              "(mount -o remount,size=... /dev/shm, or the container's shm size)"};
}

}  // namespace

std::uint64_t shared_memory_free() noexcept {
  struct statvfs info {};
  if (statvfs(kFolder, &info) != 0) return 0;
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

Result<void> reserve_shared_memory(int fd, std::uint64_t bytes, std::uint64_t at_once) {
  const std::uint64_t promised = promised_to_others(fd);
  // What could never be had is not asked for, not even for a moment, in which it would count for others that start.
  if (!has_room_for(bytes, 0)) return too_little(bytes, promised);
  int code = ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (code == 0 && !has_room_for(bytes, promised)) code = ENOSPC;
  if (code == 0) code = take_shared_memory(fd, 0, at_once);
  if (code == 0) return {};
  // What was taken before it failed is given back at once: others on the node may need it.
  const int kept = ftruncate(fd, 0);
  (void)kept;
  if (code == ENOSPC || code == ENOMEM) return too_little(bytes, promised);
  return Error{Status::ERROR_SYSTEM, "cannot reserve shared memory: " + errno_text(code)};
}

// Not posix_fallocate: where the file system has none, that writes into what is there.
int take_shared_memory(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (bytes == 0) return 0;
  while (fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

bool populate(void* address, std::size_t bytes) noexcept {
  return madvise(address, bytes, MADV_POPULATE_WRITE) == 0;
}

void prefer_huge_pages(void* address, std::size_t bytes) noexcept {
  madvise(address, bytes, MADV_HUGEPAGE);
}

bool make_read_only(char* begin, char* end) noexcept {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  begin += (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  end -= reinterpret_cast<std::uintptr_t>(end) % page;
  return begin >= end || mprotect(begin, static_cast<std::size_t>(end - begin), PROT_READ) == 0;
}

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

}  // namespace leat::os
