// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/raw/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace leat::raw {

Files::Files(std::string folder) : folder_(std::move(folder)) {
  folder_fd_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd_ < 0) fail();
}

Files::~Files() {
  close_all();
  ::close(folder_fd_);
}

int Files::open(const std::string& name) {
  if (const auto known = open_.find(name); known != open_.end()) return known->second;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const int fd = ::openat(folder_fd_, name.c_str(), kFlags, 0666);
  struct stat facts {};
  if (fd < 0 || fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    const int code = fd < 0 ? errno : EINVAL;
    if (fd >= 0) ::close(fd);
    errno = code;
    fail();
  }
  open_[name] = fd;
  return fd;
}

void Files::write(int fd, const void* from, std::uint64_t bytes, std::uint64_t at) const {
  const auto* data = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t n = ::pwrite(fd, data, bytes, static_cast<off_t>(at));
    if (n < 0 && errno != EINTR) fail();
    if (n <= 0) continue;
    data += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
}

void Files::cut(const std::string& name, std::uint64_t bytes) {
  if (::ftruncate(open(name), static_cast<off_t>(bytes)) != 0) fail();
}

void Files::sync() const {
  for (const auto& [name, fd] : open_)
    if (::fdatasync(fd) != 0) fail();
  if (::fsync(folder_fd_) != 0 && errno != EINVAL) fail();
}

void Files::close_all() {
  for (const auto& [name, fd] : std::exchange(open_, {})) ::close(fd);
}

void Files::fail() const {
  throw std::runtime_error("cannot write into the folder " + folder_ + ": " + std::strerror(errno));
}

}  // namespace leat::raw
