// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/named_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "server/plugins/common/whole_io.hpp"
#include "server/plugins/hdf5/disk/file_space.hpp"

namespace leat::hdf5 {

Durability durability_from(const std::string& text) {
  if (text == "iteration") return Durability::iteration;
  if (text == "close" || text.empty()) return Durability::close;
  if (text == "none") return Durability::none;
  throw std::runtime_error("option durability=\"" + text +
                           "\": expected \"iteration\", \"close\" or \"none\"");
}

namespace {

constexpr std::uint64_t kCopyPiece = 4 << 20;

// Not every pair of files can be copied by the system.
int copy_by_hand(int from, int to, std::uint64_t at, std::uint64_t end) {
  std::vector<char> piece(std::min(kCopyPiece, end - at));
  for (int code = 0; at < end; at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece.size(), end - at));
    code = read_whole(from, piece.data(), piece.size(), at);
    if (code == 0) code = write_whole(to, piece.data(), piece.size(), at);
    if (code != 0) return code;
  }
  return 0;
}

// Makes an empty file one with the same `bytes`, which the system shares between them where it can.
// 0 or an errno: ENOSPC is known before anything is copied, where room can be reserved.
int copy_content(int from, int to, std::uint64_t bytes) {
  if (const int code = reserve(to, 0, bytes); bytes == 0 || code != 0) return code;
  off_t read_at = 0, written_at = 0;
  while (static_cast<std::uint64_t>(read_at) < bytes) {
    const std::uint64_t left = bytes - static_cast<std::uint64_t>(read_at);
    const ssize_t n = ::copy_file_range(from, &read_at, to, &written_at, left, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) return errno;
    if (n <= 0) return copy_by_hand(from, to, static_cast<std::uint64_t>(read_at), bytes);
  }
  return 0;
}

}  // namespace

NamedFile::NamedFile(const FilePlace& place, bool is_new)
    : place_(place), fd_(is_new ? new_.make(place) : place.open(O_RDWR)) {
  if (!fd_) throw std::runtime_error("cannot open " + place.path() + ": " + std::strerror(errno));
  note_identity();
}

void NamedFile::note_identity() {
  struct stat facts {};
  if (fstat(fd(), &facts) != 0) return;
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
}

std::string NamedFile::name_now() const {
  std::error_code unknown;
  const std::string path = std::filesystem::read_symlink(os::path_of_descriptor(fd()), unknown);
  return !unknown && is_at(path) ? path : "";
}

int NamedFile::move_to(const FilePlace& place, bool durable) {
  int code = is_at(place) ? 0 : place.give_to(fd());
  if (code != 0 && code != EEXIST) code = copy_to(place, durable);
  if (code != 0) return code;
  place_ = place;
  name_is_safe_ = false;
  return 0;
}

// All who write go on with the copy, by the descriptor that they have.
int NamedFile::copy_to(const FilePlace& place, bool durable) {
  NewFile copy;
  const UniqueFd made = copy.make(place);
  if (!made) return errno;
  struct stat facts {};
  int code = fstat(fd(), &facts) == 0 ? 0 : errno;
  if (code == 0) code = copy_content(fd(), made.get(), static_cast<std::uint64_t>(facts.st_size));
  if (code == 0 && durable) code = sync_data(made.get());
  if (code == 0) code = copy.publish(made.get());
  if (code == 0 && ::dup3(made.get(), fd(), O_CLOEXEC) < 0) code = errno;
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
