// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <utility>

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::microseconds kPause(500);

bool is_same_file(int fd, const std::string& path) {
  struct stat open_one, named_one;
  return fstat(fd, &open_one) == 0 && stat(path.c_str(), &named_one) == 0 &&
         open_one.st_ino == named_one.st_ino && open_one.st_dev == named_one.st_dev;
}

std::string advice(int code) {
  if (code == ENOSPC || code == EDQUOT) return ": make room there";
  return ": give the run the right to write there, or change folder=\"...\" of the store";
}

int open_lock(const fs::path& lock) {
  const int fd = ::open(lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (fd >= 0) return fd;
  const int code = errno;
  throw std::runtime_error("cannot write into the output folder \"" +
                           fs::absolute(lock).parent_path().string() +
                           "\": " + std::strerror(code) + advice(code));
}

bool would_block(int fd, int kind) {
  return flock(fd, kind | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

// is_taken() shares the lock for a moment, and who writes never does: so what can be shared is
// free, as soon as those who ask are gone.
bool lock_now(int fd) {
  while (would_block(fd, LOCK_EX)) {
    if (would_block(fd, LOCK_SH)) return false;
    flock(fd, LOCK_UN);
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

std::string lock_of(const fs::path& file) {
  return file.parent_path() / ("." + file.filename().string() + ".lock");
}

}  // namespace

bool FileLock::is_taken(const std::string& path) {
  const int fd = ::open(lock_of(path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool taken = would_block(fd, LOCK_SH);
  ::close(fd);
  return taken;
}

bool FileLock::is_left(const std::string& path) { return fs::exists(lock_of(path)); }

std::optional<FileLock> FileLock::take(const std::string& path) {
  const std::string lock = lock_of(path);
  for (;;) {
    const int fd = open_lock(lock);
    if (!lock_now(fd)) {
      ::close(fd);
      return std::nullopt;
    }
    FileLock taken(lock, fd);
    // Its last owner may have removed the file between our open and our lock: then we have locked
    // nothing, and what has the name now is not ours to remove.
    if (is_same_file(fd, lock)) return taken;
    taken.path_.clear();
  }
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ < 0) return;
  if (!path_.empty()) ::unlink(path_.c_str());
  ::close(fd_);
}

}  // namespace leat::hdf5
