// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace leat::hdf5 {
namespace {

constexpr int kFlags = O_RDWR | O_CLOEXEC;
constexpr mode_t kMode = 0666;

std::filesystem::path part_of(const std::filesystem::path& file) {
  return file.parent_path() / ("." + file.filename().string() + ".part");
}

// By this name a file without one can be linked.
std::string name_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

int make_without_name(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int fd = ::open(folder.c_str(), O_TMPFILE | kFlags, kMode);
  if (fd < 0 || ::access(name_of(fd).c_str(), F_OK) == 0) return fd;
  ::close(fd);
  return -1;
}

int rename_to_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  struct stat facts {};
  if (::lstat(to.c_str(), &facts) == 0) return EEXIST;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

int NewFile::make(const std::string& path) {
  const std::string part = part_of(path);
  ::unlink(part.c_str());
  int fd = make_without_name(path);
  if (fd < 0) {
    fd = ::open(part.c_str(), O_CREAT | O_EXCL | kFlags, kMode);
    if (fd >= 0) part_ = part;
  }
  if (fd >= 0) path_ = path;
  return fd;
}

int NewFile::publish(int fd) {
  int code = 0;
  if (!part_.empty()) {
    code = rename_to_new(part_, path_);
  } else if (::linkat(AT_FDCWD, name_of(fd).c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) !=
             0) {
    code = errno;
  }
  if (code != 0) return code;
  path_.clear();
  part_.clear();
  return 0;
}

NewFile::~NewFile() {
  if (!part_.empty()) ::unlink(part_.c_str());
}

}  // namespace leat::hdf5
