// SPDX-License-Identifier: Apache-2.0
// Places in a file, and the room on the disk that they need.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "server/plugins/common/direct_io.hpp"

namespace leat::hdf5 {

// Gives away places in a file, none of them twice.
//
// Structures get theirs side by side in arenas, so that those that change with each commit are
// neighbours, which one write changes. An arena is a small part of what is there already: that of a
// small file is small. Large pieces of data begin on a page: the system copies them
// faster, and they can go to the disk without a copy.
//
// HDF5 gives back what lies at the very end of a file and takes it again for other things, though a
// reader may be told to look there. So it is told of an end with a gap behind all that it has.

class FileSpace {
 public:
  /// Up to `used` the file has things already.
  explicit FileSpace(std::uint64_t used = 0)
      : used_(used), next_(used), end_(used), committed_(used) {}

  std::uint64_t take(std::uint64_t bytes, bool bulk) {
    next_ = std::max(next_, used_);
    if (bulk || bytes > kLargestInArena)
      return take_from_end(bytes, bytes >= kLarge || bytes % kPage == 0 ? kPage : kWord,
                           bytes >= kLarge ? phase_ : 0);
    if (arena_.begin + bytes > arena_.end) arena_ = new_arena(bytes);
    const std::uint64_t address = arena_.begin;
    arena_.begin = up(address + bytes, kWord);
    return address;
  }
  /// Large pieces begin so far behind a page.
  void set_phase(std::uint64_t phase) { phase_ = phase; }
  /// Where the next large piece would begin, but for its alignment.
  std::uint64_t next() const { return next_; }
  /// HDF5 says where what it has ends.
  void set_end(std::uint64_t end) { next_ = end_ = end; }
  /// What it is told.
  std::uint64_t end() const { return end_; }
  /// Bytes that may be in the file; at least end().
  std::uint64_t size() const { return std::max(end_, used_); }

  /// Others have written meanwhile, up to `used`. What is left of its arena is its own still.
  void go_on_behind(std::uint64_t used) {
    used_ = used;
    next_ = std::max(next_, used);
    end_ = std::max(end_, used);
    commit();
  }
  /// Readers may find all that was given away up to now.
  void commit() {
    committed_ = next_;
    fresh_ = arena_;
  }
  /// Given away since.
  bool is_new(std::uint64_t address) const {
    return address >= committed_ || (address >= fresh_.begin && address < fresh_.end);
  }

 private:
  static constexpr std::uint64_t kWord = 8;
  static constexpr std::uint64_t kLarge = 128ull * 1024;  // a page more does not matter then
  static constexpr std::uint64_t kLeastArena = 16ull * 1024, kArena = 64ull * 1024;
  static constexpr std::uint64_t kLargestInArena = kArena / 4;
  static constexpr std::uint64_t kArenaPart = 16;  // of what is there, an arena is one
  struct Range {
    std::uint64_t begin = 0, end = 0;
  };
  static std::uint64_t up(std::uint64_t address, std::uint64_t step) {
    return (address + step - 1) / step * step;
  }
  Range new_arena(std::uint64_t least) {
    const std::uint64_t part = up(next_ / kArenaPart, kWord);
    const std::uint64_t bytes = std::clamp(part, std::max(least, kLeastArena), kArena);
    const std::uint64_t begin = take_from_end(bytes, bytes < kArena ? kWord : kPage, 0);
    return {begin, begin + bytes};
  }
  std::uint64_t take_from_end(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t phase) {
    std::uint64_t address = up(next_, alignment) + phase;
    if (phase > 0 && address >= next_ + alignment) address -= alignment;
    next_ = up(address + bytes, kWord);
    end_ = next_ + kWord;
    return address;
  }

  std::uint64_t used_;       // by writers before this one, at most
  std::uint64_t next_;       // nothing is behind it
  std::uint64_t end_;        // of what is given away, as HDF5 has it
  std::uint64_t committed_;  // `next_` at the last commit
  std::uint64_t phase_ = 0;
  Range arena_;  // what is left of it
  Range fresh_;  // was left at the last commit
};

// Room that a file has on the disk, taken before anything is written to it.

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

class Reservation {
 public:
  /// Up to `end` the file has some.
  explicit Reservation(std::uint64_t end = 0) : end_(end) {}
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
