// SPDX-License-Identifier: Apache-2.0
// Room that a file has on the disk, taken before anything is written to it.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdint>

namespace leat::hdf5 {

/// 0, also where a file system cannot reserve: there a write fails. Or ENOSPC, EDQUOT, EFBIG.
inline int reserve(int fd, std::uint64_t from, std::uint64_t upto) {
  int code = 0;
  do {
    code = ::fallocate(fd, 0, static_cast<off_t>(from), static_cast<off_t>(upto - from)) == 0
               ? 0
               : errno;
  } while (code == EINTR);
  return code == ENOSPC || code == EDQUOT || code == EFBIG ? code : 0;
}

class Room {
 public:
  /// Up to `end` the file has some.
  explicit Room(std::uint64_t end = 0) : end_(end) {}
  std::uint64_t end() const { return end_; }
  /// Nothing behind `end` is needed any more.
  void cut(std::uint64_t end) { end_ = end; }
  /// Takes room up to `end`, and some more where there is some: so the disk is not asked for each
  /// little piece. 0 or an errno.
  int take(int fd, std::uint64_t end) {
    int code = 0;
    for (const std::uint64_t upto : {(end + kStep - 1) / kStep * kStep, end}) {
      if (end <= end_) return 0;
      code = is_over_the_limit(upto) ? EFBIG : reserve(fd, end_, upto);
      if (code == 0) end_ = upto;
    }
    return code;
  }

 private:
  static constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
  // A write beyond the limit of the process would raise SIGXFSZ.
  static bool is_over_the_limit(std::uint64_t end) {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           end > limit.rlim_cur;
  }

  std::uint64_t end_;
};

}  // namespace leat::hdf5
