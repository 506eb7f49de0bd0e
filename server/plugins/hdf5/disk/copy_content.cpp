// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/copy_content.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "server/plugins/hdf5/disk/room.hpp"
#include "server/plugins/hdf5/disk/whole_io.hpp"

namespace leat::hdf5 {
namespace {

// FICLONE of linux/fs.h.
constexpr unsigned long kShareContent = _IOW(0x94, 9, int);
constexpr std::size_t kAtOnce = 4 << 20;

// By hand: not every pair of files can be copied by the system.
int copy_by_hand(int from, int to, off_t at, off_t end) {
  std::vector<char> piece(std::min<std::size_t>(kAtOnce, static_cast<std::size_t>(end - at)));
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

}  // namespace

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

}  // namespace leat::hdf5
