// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/named_file.hpp"

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
