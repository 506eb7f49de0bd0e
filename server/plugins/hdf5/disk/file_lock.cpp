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

#include "server/plugins/hdf5/disk/owner_file.hpp"

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

// 0, or an errno: EWOULDBLOCK when others have it; anything else says that there are no locks here.
int try_lock(int fd, int kind) { return flock(fd, kind | LOCK_NB) == 0 ? 0 : errno; }

// is_taken() shares the lock for a moment, and who writes never does: so what can be shared is
// free, as soon as those who ask are gone.
int lock_now(int fd) {
  for (;;) {
    const int code = try_lock(fd, LOCK_EX);
    if (code != EWOULDBLOCK || try_lock(fd, LOCK_SH) == EWOULDBLOCK) return code;
    flock(fd, LOCK_UN);
    std::this_thread::sleep_for(kPause);
  }
}

std::string beside(const fs::path& file, const char* ending) {
  return file.parent_path() / ("." + file.filename().string() + ending);
}

std::string lock_of(const fs::path& file) { return beside(file, ".lock"); }

std::string owner_of(const fs::path& file) { return beside(file, ".owner"); }

}  // namespace

bool FileLock::is_taken(const std::string& path) {
  const int fd = ::open(lock_of(path).c_str(), O_RDONLY | O_CLOEXEC);
  const bool taken = fd >= 0 && try_lock(fd, LOCK_SH) == EWOULDBLOCK;
  if (fd >= 0) ::close(fd);
  return taken || is_claimed(owner_of(path));
}

bool FileLock::is_left(const std::string& path) {
  return fs::exists(lock_of(path)) || fs::exists(owner_of(path));
}

std::string FileLock::holder(const std::string& path) {
  const std::string owner = owner_in(owner_of(path));
  if (owner.empty()) return "";
  return " by " + owner +
         " (there are no locks on this file system: when that process is gone, remove " +
         owner_of(path) + ")";
}

std::optional<FileLock> FileLock::take(const std::string& path) {
  const std::string lock = lock_of(path);
  for (;;) {
    const int fd = open_lock(lock);
    const int code = lock_now(fd);
    FileLock taken(lock, fd);
    if (code == EWOULDBLOCK) taken.path_.clear();
    if (code == EWOULDBLOCK) return std::nullopt;
    if (code != 0) return take_without_locks(path);
    // Its last owner may have removed the file between our open and our lock: then we have locked
    // nothing, and what has the name now is not ours to remove.
    if (is_same_file(fd, lock)) return taken;
    taken.path_.clear();
  }
}

std::optional<FileLock> FileLock::take_without_locks(const std::string& path) {
  if (!claim(owner_of(path))) return std::nullopt;
  return FileLock(owner_of(path), -1);
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::exchange(other.path_, {})), fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (!path_.empty()) ::unlink(path_.c_str());
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace leat::hdf5
