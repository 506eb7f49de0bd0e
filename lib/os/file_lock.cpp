// SPDX-License-Identifier: Apache-2.0
#include "lib/os/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"

namespace leat::os {
namespace {

constexpr std::int64_t kMakeLimitNs = 5'000'000'000;

UniqueFd open_own(const std::string& path, int flags) noexcept {
  return UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600));
}

bool lock_until(const UniqueFd& fd, const Deadline& deadline) noexcept {
  while (!lock_now(fd)) {
    if (deadline.passed()) return false;
    pause_shortly();
  }
  return true;
}

struct flock byte_range(std::int64_t index) noexcept {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = index;
  range.l_len = 1;
  return range;
}

}  // namespace

bool lock_now(const UniqueFd& fd) noexcept { return flock(fd.get(), LOCK_EX | LOCK_NB) == 0; }

bool still_there(const UniqueFd& fd, const std::string& path) noexcept {
  struct stat by_fd {
  }, by_path{};
  return fstat(fd.get(), &by_fd) == 0 && lstat(path.c_str(), &by_path) == 0 &&
         by_fd.st_ino == by_path.st_ino && by_fd.st_dev == by_path.st_dev;
}

UniqueFd lock_file(const std::string& path, std::int64_t timeout_ns) {
  const Deadline deadline = Deadline::in_ns(timeout_ns);
  for (;;) {
    UniqueFd fd = open_own(path, O_CREAT);
    if (fd && lock_now(fd) && still_there(fd, path)) return fd;
    if (deadline.passed()) return {};
    pause_shortly();
  }
}

Result<UniqueFd> make_locked_file(const std::string& path) {
  const Deadline deadline = Deadline::in_ns(kMakeLimitNs);
  do {
    UniqueFd fd = open_own(path, O_CREAT | O_EXCL);
    if (!fd) return Error{Status::ERROR_SYSTEM, "cannot make " + path + ": " + errno_text(errno)};
    if (lock_until(fd, deadline) && still_there(fd, path)) return fd;
  } while (!deadline.passed());
  return Error{Status::ERROR_SYSTEM, "cannot lock " + path + ", which was made just now"};
}

bool share_lock(const UniqueFd& fd, std::int64_t timeout_ns) noexcept {
  const Deadline deadline = Deadline::in_ns(timeout_ns);
  while (flock(fd.get(), LOCK_SH | LOCK_NB) != 0) {
    if (deadline.passed()) return false;
    pause_shortly();
  }
  return true;
}

UniqueFd shared_lock(const std::string& path, std::int64_t timeout_ns) noexcept {
  UniqueFd fd = open_own(path, 0);
  if (!fd || !share_lock(fd, timeout_ns) || !still_there(fd, path)) return {};
  return fd;
}

bool lock_byte(const UniqueFd& fd, std::int64_t index) noexcept {
  struct flock range = byte_range(index);
  return fcntl(fd.get(), F_OFD_SETLK, &range) == 0;
}

bool lock_byte_for_process(const UniqueFd& fd, std::int64_t index) noexcept {
  struct flock range = byte_range(index);
  return fcntl(fd.get(), F_SETLK, &range) == 0;
}

bool lock_byte(const UniqueFd& fd, std::int64_t index, std::int64_t timeout_ns) noexcept {
  for (const Deadline deadline = Deadline::in_ns(timeout_ns); !lock_byte(fd, index);
       pause_shortly()) {
    if (deadline.passed()) return false;
  }
  return true;
}

bool bytes_are_locked(const UniqueFd& fd, std::int64_t first, std::int64_t count) noexcept {
  struct flock range = byte_range(first);
  range.l_len = count;
  return fcntl(fd.get(), F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

UniqueFd open_there(const std::string& path) noexcept { return open_own(path, 0); }

LockTry try_lock(const std::string& path) noexcept {
  LockTry result;
  UniqueFd fd = open_own(path, 0);
  if (!fd) return result;
  if (!lock_now(fd)) {
    result.held = true;
  } else if (still_there(fd, path)) {
    result.lock = std::move(fd);
  }
  return result;
}

UniqueFd open_to_append(const std::string& path, bool anew) noexcept {
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (anew ? O_TRUNC : 0);
  return UniqueFd(open(path.c_str(), flags, 0600));
}

UniqueFd open_to_write(const std::string& path) noexcept { return open_own(path, O_CREAT); }

}  // namespace leat::os
