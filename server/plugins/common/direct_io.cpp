// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/common/direct_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "server/plugins/common/whole_io.hpp"

namespace leat {
namespace {

// A write through the page cache would meet it too.
bool is_of_the_disk(int code) {
  return code == EIO || code == ENOSPC || code == EDQUOT || code == EFBIG;
}

}  // namespace

int DirectIo::open(int file) {
  close();
  file_ = file;
  // Of this thread: on a thread of a simulation a server has descriptors of its own.
  const std::string path = "/proc/thread-self/fd/" + std::to_string(file);
  direct_ = ::open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);
  return is_open() ? 0 : errno;
}

void DirectIo::close() {
  if (is_open()) ::close(std::exchange(direct_, -1));
}

std::uint64_t DirectIo::phase_of(const void* from) {
  return reinterpret_cast<std::uintptr_t>(from) % kPage;
}

bool DirectIo::fits(std::uint64_t address, const void* from, std::size_t bytes) const {
  return is_open() && bytes >= kSmallest && address % kPage == phase_of(from);
}

int DirectIo::write(std::uint64_t address, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  const std::size_t head = std::min((kPage - address % kPage) % kPage, bytes);
  const std::size_t pages = (bytes - head) / kPage * kPage, tail = bytes - head - pages;
  int code = write_whole(file_, at, head, address);
  if (code == 0) code = write_pages(address + head, at + head, pages);
  if (code == 0) code = write_whole(file_, at + head + pages, tail, address + head + pages);
  return code;
}

// A file system that refuses after all, and what it did not take, go through the page cache.
int DirectIo::write_pages(std::uint64_t address, const char* from, std::size_t bytes) {
  std::size_t done = 0;
  while (is_open() && done < bytes && done % kPage == 0) {
    const ssize_t n =
        ::pwrite(direct_, from + done, bytes - done, static_cast<off_t>(address + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && is_of_the_disk(errno)) return errno;
    if (n <= 0) {
      refusal_ = n < 0 ? errno : EIO;
      close();
      break;
    }
    done += static_cast<std::size_t>(n);
  }
  return write_whole(file_, from + done, bytes - done, address + done);
}

}  // namespace leat
