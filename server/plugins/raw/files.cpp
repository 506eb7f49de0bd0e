// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/raw/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "server/plugins/common/errno_text.hpp"

namespace leat::raw {

Files::Files(std::string folder) : folder_(std::move(folder)) {
  folder_fd_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd_ < 0) fail(errno);
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
    fail(code);
  }
  open_[name] = fd;
  return fd;
}

void Files::cut(const std::string& name, std::uint64_t bytes) {
  if (::ftruncate(open(name), static_cast<off_t>(bytes)) != 0) fail(errno);
}

void Files::sync() const {
  for (const auto& [name, fd] : open_)
    if (::fdatasync(fd) != 0) fail(errno);
  if (::fsync(folder_fd_) != 0 && errno != EINVAL) fail(errno);
}

void Files::close_all() {
  for (const auto& [name, fd] : std::exchange(open_, {})) ::close(fd);
}

void Files::fail(int code) const {
  throw std::runtime_error("cannot write into the folder " + folder_ + ": " + errno_text(code));
}

}  // namespace leat::raw
