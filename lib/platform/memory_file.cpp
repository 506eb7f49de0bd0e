// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace leat::platform {

UniqueFd memory_file(const char* title) noexcept {
  return UniqueFd(memfd_create(title, MFD_CLOEXEC));
}

bool write_at(int file, const void* data, std::uint64_t bytes, std::uint64_t offset) noexcept {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = pwrite(file, from, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
  return true;
}

std::string text_of(int file, std::size_t most) {
  std::string text(most, '\0');
  const ssize_t got = pread(file, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace leat::platform
