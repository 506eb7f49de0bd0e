// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "lib/platform/process.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace leat::platform {
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

}  // namespace leat::platform
