// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/file_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace leat::hdf5 {
namespace {

constexpr int kFlags = O_RDWR | O_CLOEXEC;
constexpr mode_t kMode = 0666;

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

// Neither waits for the other end of a pipe, nor has a device do anything.
int only_file(int fd) {
  struct stat facts {};
  if (fd < 0 || (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode))) return fd;
  ::close(fd);
  errno = EINVAL;
  return -1;
}

int code_of(int result) { return result == 0 ? 0 : errno; }

}  // namespace

FilePlace::Folder::Folder(const std::string& folder)
    : path(folder),
      fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      error(fd.is_open() ? 0 : errno) {}

FilePlace::FilePlace(const std::string& path)
    : folder_(std::make_shared<Folder>(std::filesystem::path(path).parent_path().string())),
      name_(std::filesystem::path(path).filename().string()) {}

std::string FilePlace::path() const { return std::filesystem::path(folder_->path) / name_; }

// The folder's own error stands for all that comes of it.
int FilePlace::opened(int file) const {
  if (file < 0 && error() != 0) errno = error();
  return file;
}

int FilePlace::make() const {
  return opened(::openat(fd(), name_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | kFlags, kMode));
}

int FilePlace::make_unnamed() const {
  const int file = opened(::openat(fd(), ".", O_TMPFILE | kFlags, kMode));
  if (file < 0 || ::access(path_of_descriptor(file).c_str(), F_OK) == 0) return file;
  ::close(file);
  errno = EOPNOTSUPP;
  return -1;
}

int FilePlace::open(int flags) const {
  return only_file(opened(
      ::openat(fd(), name_.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)));
}

int FilePlace::open_or_make() const {
  return only_file(opened(
      ::openat(fd(), name_.c_str(), O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | kFlags, kMode)));
}

bool FilePlace::exists() const {
  struct stat facts {};
  return fstatat(fd(), name_.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0;
}

bool FilePlace::names(int file) const {
  struct stat open_one {
  }, named_one{};
  return fstat(file, &open_one) == 0 &&
         fstatat(fd(), name_.c_str(), &named_one, AT_SYMLINK_NOFOLLOW) == 0 &&
         is_same(open_one, named_one);
}

bool FilePlace::leads_to(dev_t device, ino_t inode) const {
  struct stat facts {};
  return lstat(path().c_str(), &facts) == 0 && facts.st_dev == device && facts.st_ino == inode;
}

int FilePlace::give_to(int file) const {
  return code_of(
      ::linkat(AT_FDCWD, path_of_descriptor(file).c_str(), fd(), name_.c_str(), AT_SYMLINK_FOLLOW));
}

int FilePlace::rename_to(const FilePlace& other) const {
  return code_of(::renameat(fd(), name_.c_str(), other.fd(), other.name_.c_str()));
}

int FilePlace::rename_to_new(const FilePlace& other) const {
  const int code =
      code_of(::renameat2(fd(), name_.c_str(), other.fd(), other.name_.c_str(), RENAME_NOREPLACE));
  if (code != EINVAL && code != ENOSYS) return code;
  return other.exists() ? EEXIST : rename_to(other);
}

int FilePlace::remove() const { return code_of(::unlinkat(fd(), name_.c_str(), 0)); }

int FilePlace::sync_folder() const {
  // EINVAL: a file system that keeps names safe in ways of its own.
  return ::fsync(fd()) == 0 || errno == EINVAL ? 0 : errno;
}

namespace {

FilePlace part_of(const FilePlace& place) { return place.beside(".part"); }

}  // namespace

int NewFile::make(const FilePlace& place) {
  const FilePlace part = part_of(place);
  part.remove();
  int fd = place.make_unnamed();
  has_part_ = fd < 0;
  if (has_part_) fd = part.make();
  if (fd >= 0) place_ = place;
  return fd;
}

int NewFile::publish(int fd) {
  const int code = has_part_ ? part_of(*place_).rename_to_new(*place_) : place_->give_to(fd);
  if (code == 0) place_.reset();
  return code;
}

void NewFile::give_up() {
  if (place_ && has_part_) part_of(*place_).remove();
  place_.reset();
}

}  // namespace leat::hdf5
