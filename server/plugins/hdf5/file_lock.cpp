// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::optional<FileLock> FileLock::take(const std::string& path) {
  const fs::path file = path;
  const std::string lock = file.parent_path() / ("." + file.filename().string() + ".lock");
  for (;;) {
    const int fd = open_lock(lock);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
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
