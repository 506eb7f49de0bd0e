// SPDX-License-Identifier: Apache-2.0
// pwrite and pread that go on until all is done.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace leat {

/// Writes all of it at `address`. 0 or an errno.
inline int write_whole(int fd, const void* from, std::size_t bytes, std::uint64_t address) {
  const auto* at = static_cast<const unsigned char*>(from);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = ::pwrite(fd, at + done, bytes - done, static_cast<off_t>(address + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

/// Reads all of it from `address`; zeros behind the end of the file. 0 or an errno.
inline int read_whole(int fd, void* to, std::size_t bytes, std::uint64_t address) {
  auto* at = static_cast<unsigned char*>(to);
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(fd, at + done, bytes - done, static_cast<off_t>(address + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  std::memset(at + done, 0, bytes - done);
  return 0;
}

}  // namespace leat
