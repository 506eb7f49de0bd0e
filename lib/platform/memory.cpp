// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace leat::platform {

std::uint64_t shared_memory_free() noexcept {
  struct statvfs info {};
  if (statvfs("/dev/shm", &info) != 0) return 0;
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

Result<void> reserve_shared_memory(int fd, std::uint64_t bytes) {
  int code = 0;
  do {
    code = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (code == EINTR);
  if (code == 0) return {};
  // What was taken before it failed is given back at once: others on the node may need it.
  const int kept = ftruncate(fd, 0);
  (void)kept;
  if (code == ENOSPC || code == ENOMEM || code == EFBIG) {
    return Error{Status::ERROR_MEMORY,
                 "the segment needs " + format_bytes(bytes) + " (" + std::to_string(bytes) +
                     " bytes) of shared memory, but /dev/shm has " +
                     format_bytes(shared_memory_free()) + " (" +
                     std::to_string(shared_memory_free()) +
                     " bytes) free: make <buffer size=\"...\"/> smaller, or /dev/shm larger "
                     "(mount -o remount,size=... /dev/shm, or the container's shm size)"};
  }
  return Error{Status::ERROR_SYSTEM,
               std::string("cannot reserve shared memory: ") + std::strerror(code)};
}

void populate(void* address, std::size_t bytes) noexcept {
  madvise(address, bytes, MADV_POPULATE_WRITE);
}

}  // namespace leat::platform
