// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/file_place.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "server/plugins/common/whole_io.hpp"
#include "server/plugins/hdf5/disk/file_space.hpp"

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

namespace {

// FICLONE of linux/fs.h.
constexpr unsigned long kShareContent = _IOW(0x94, 9, int);
constexpr std::size_t kCopyPiece = 4 << 20;

// By hand: not every pair of files can be copied by the system.
int copy_by_hand(int from, int to, off_t at, off_t end) {
  std::vector<char> piece(std::min<std::size_t>(kCopyPiece, static_cast<std::size_t>(end - at)));
  while (at < end) {
    const std::size_t bytes = std::min(piece.size(), static_cast<std::size_t>(end - at));
    int code = read_whole(from, piece.data(), bytes, static_cast<std::uint64_t>(at));
    if (code == 0) code = write_whole(to, piece.data(), bytes, static_cast<std::uint64_t>(at));
    if (code != 0) return code;
    at += static_cast<off_t>(bytes);
  }
  return 0;
}

int copy_piece(int from, int to, off_t at, off_t end) {
  off_t read_at = at, written_at = at;
  while (read_at < end) {
    const ssize_t n = ::copy_file_range(from, &read_at, to, &written_at,
                                        static_cast<std::size_t>(end - read_at), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) return errno;
    if (n <= 0) return copy_by_hand(from, to, read_at, end);
  }
  return 0;
}

// Makes an empty file one with the same `bytes`. Shares them where the file system can, and leaves
// out what was never written. 0 or an errno: ENOSPC is known before anything is copied, where room
// can be reserved.
int copy_content(int from, int to, std::uint64_t bytes) {
  const auto size = static_cast<off_t>(bytes);
  if (size == 0 || ::ioctl(to, kShareContent, from) == 0) return 0;
  int code = reserve(to, 0, bytes);
  // Where the file system cannot reserve.
  if (code == 0 && ::ftruncate(to, size) != 0) code = errno;
  for (off_t at = 0, end = 0; code == 0 && at < size; at = end) {
    const off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return 0;  // nothing but holes follows
    const off_t begin = data < 0 ? at : data, hole = data < 0 ? -1 : ::lseek(from, data, SEEK_HOLE);
    end = std::min(size, hole < 0 ? size : hole);
    code = copy_piece(from, to, begin, end);
  }
  return code;
}

}  // namespace

NamedFile::NamedFile(const FilePlace& place, bool is_new)
    : place_(place), fd_(is_new ? new_.make(place) : place.open(O_RDWR)) {
  if (!fd_.is_open())
    throw std::runtime_error("cannot open " + place.path() + ": " + std::strerror(errno));
  note_identity();
}

void NamedFile::note_identity() {
  struct stat facts {};
  if (fstat(fd_, &facts) != 0) return;
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
}

std::string NamedFile::name_now() const {
  std::error_code unknown;
  const std::string path = std::filesystem::read_symlink(path_of_descriptor(fd_), unknown);
  return !unknown && is_at(path) ? path : "";
}

int NamedFile::move_to(const FilePlace& place, bool durable) {
  int code = is_at(place) ? 0 : place.give_to(fd_);
  if (code != 0 && code != EEXIST) code = copy_to(place, durable);
  if (code != 0) return code;
  place_ = place;
  name_is_safe_ = false;
  return 0;
}

// All who write go on with the copy, by the descriptor that they have.
int NamedFile::copy_to(const FilePlace& place, bool durable) {
  NewFile copy;
  const Descriptor fd(copy.make(place));
  if (!fd.is_open()) return errno;
  struct stat facts {};
  int code = fstat(fd_, &facts) == 0 ? 0 : errno;
  if (code == 0) code = copy_content(fd_, fd, static_cast<std::uint64_t>(facts.st_size));
  if (code == 0 && durable) code = sync_data(fd);
  if (code == 0) code = copy.publish(fd);
  if (code == 0 && ::dup3(fd, fd_, O_CLOEXEC) < 0) code = errno;
  if (code == 0) note_identity();
  return code;
}

int NamedFile::sync_name() {
  if (name_is_safe_ || !new_.is_published()) return 0;
  const int code = place_.sync_folder();
  name_is_safe_ = code == 0;
  return code;
}

}  // namespace leat::hdf5
