// SPDX-License-Identifier: Apache-2.0
#include "lib/os/file_place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "lib/os/process.hpp"

namespace leat::os {
namespace {

constexpr int kFlags = O_RDWR | O_CLOEXEC;
constexpr int kHarmless = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
constexpr mode_t kMode = 0666;

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

UniqueFd only_file(UniqueFd fd) {
  struct stat facts {};
  if (!fd || (fstat(fd.get(), &facts) == 0 && S_ISREG(facts.st_mode))) return fd;
  errno = EINVAL;
  return {};
}

int code_of(int result) { return result == 0 ? 0 : errno; }

std::string or_here(const std::string& folder) { return folder.empty() ? "." : folder; }

}  // namespace

FilePlace::FilePlace(const std::string& path)
    : parent_(std::filesystem::path(path).parent_path().string()),
      name_(std::filesystem::path(path).filename().string()) {
  folder_ = std::make_shared<Folder>(or_here(parent_));
}

std::string FilePlace::path() const { return std::filesystem::path(parent_) / name_; }

UniqueFd FilePlace::make() const {
  return folder_->open(name_, O_CREAT | O_EXCL | O_NOFOLLOW | kFlags, kMode);
}

// On some file systems one that has no name cannot be reached to get one.
UniqueFd FilePlace::make_unnamed() const {
  UniqueFd file = folder_->open(".", O_TMPFILE | kFlags, kMode);
  if (!file || ::access(path_of_descriptor(file.get()).c_str(), F_OK) == 0) return file;
  errno = EOPNOTSUPP;
  return {};
}

UniqueFd FilePlace::open(int flags) const {
  return only_file(folder_->open(name_, flags | kHarmless, kMode));
}

UniqueFd FilePlace::open_or_make() const { return open(O_CREAT | kFlags); }

bool FilePlace::is_no_file() const {
  struct stat facts {};
  return fstatat(folder_->fd(), name_.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
         !S_ISREG(facts.st_mode);
}

bool FilePlace::names(int file) const {
  struct stat open_one {
  }, named_one{};
  return fstat(file, &open_one) == 0 &&
         fstatat(folder_->fd(), name_.c_str(), &named_one, AT_SYMLINK_NOFOLLOW) == 0 &&
         is_same(open_one, named_one);
}

bool FilePlace::leads_to(dev_t device, ino_t inode) const {
  struct stat facts {};
  return lstat(path().c_str(), &facts) == 0 && facts.st_dev == device && facts.st_ino == inode;
}

int FilePlace::give_to(int file) const {
  return code_of(::linkat(AT_FDCWD, path_of_descriptor(file).c_str(), folder_->fd(), name_.c_str(),
                          AT_SYMLINK_FOLLOW));
}

int FilePlace::rename_to(const FilePlace& other) const {
  return code_of(
      ::renameat(folder_->fd(), name_.c_str(), other.folder_->fd(), other.name_.c_str()));
}

int FilePlace::rename_to_new(const FilePlace& other) const {
  const int code = code_of(::renameat2(folder_->fd(), name_.c_str(), other.folder_->fd(),
                                       other.name_.c_str(), RENAME_NOREPLACE));
  if (code != EINVAL && code != ENOSYS) return code;
  return other.exists() ? EEXIST : rename_to(other);
}

int FilePlace::remove() const { return folder_->remove(name_) ? 0 : errno; }

int FilePlace::sync_folder() const {
  // EINVAL: a file system that keeps names safe in ways of its own.
  return ::fsync(folder_->fd()) == 0 || errno == EINVAL ? 0 : errno;
}

UniqueFd NewFile::make(const FilePlace& place) {
  const FilePlace part = place.beside(".part");
  part.remove();
  UniqueFd fd = place.make_unnamed();
  has_part_ = !fd;
  if (has_part_) fd = part.make();
  if (fd) place_ = place;
  return fd;
}

int NewFile::publish(int fd) {
  const int code = has_part_ ? place_->beside(".part").rename_to_new(*place_) : place_->give_to(fd);
  if (code == 0) place_.reset();
  return code;
}

void NewFile::give_up() {
  if (place_ && has_part_) place_->beside(".part").remove();
  place_.reset();
}

namespace {

std::string why_no_file(const struct stat& facts) {
  if (S_ISREG(facts.st_mode)) return "";
  const char* const what = S_ISDIR(facts.st_mode)    ? "folder"
                           : S_ISFIFO(facts.st_mode) ? "pipe"
                           : S_ISSOCK(facts.st_mode) ? "socket"
                           : S_ISLNK(facts.st_mode)  ? "link"
                                                     : "device";
  return std::string("is a ") + what + ", and no file";
}

}  // namespace

std::string why_no_file(const std::string& path, bool follows_links) {
  struct stat facts {};
  const int found = follows_links ? ::stat(path.c_str(), &facts) : ::lstat(path.c_str(), &facts);
  return found == 0 ? why_no_file(facts) : "";
}

UniqueFd open_file(const std::string& path, int flags, std::string* why) {
  // Looked at first: to open a device can do something, and a socket cannot be opened.
  *why = why_no_file(path, (flags & O_NOFOLLOW) == 0);
  if (!why->empty()) return {};
  UniqueFd fd(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!fd)
    *why = "cannot be opened: " + errno_text(errno);
  else if (::fstat(fd.get(), &facts) == 0)
    *why = why_no_file(facts);
  return why->empty() ? std::move(fd) : UniqueFd();
}

}  // namespace leat::os
