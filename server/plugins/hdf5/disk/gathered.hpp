// SPDX-License-Identifier: Apache-2.0
// Small pieces of bulk data that go to the file together: of 64 KiB each, one write of 16 takes
// little more than half of the time of 16 writes.
//
// They are not copied: only what lies in memory that is lent, which stays as it is until write(),
// waits here. Pieces are in the order of their addresses, and no two overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace leat::hdf5 {

struct LentRange {
  const void* begin;
  std::size_t bytes;
};

class Gathered {
 public:
  /// What lies in these ranges stays as it is until nothing is gathered any more.
  void lend(const std::vector<LentRange>& ranges);
  /// Nothing ever lies from `begin` to `end` in the file: what is on both sides of it may be
  /// written with it.
  void note_gap(std::uint64_t begin, std::uint64_t end) { gaps_[begin] = end; }
  /// Whether this piece is one that can wait.
  bool fits(const void* from, std::size_t bytes) const;
  /// Whether write() comes before this piece is added.
  bool is_in_the_way(std::uint64_t address) const;
  void add(std::uint64_t address, const void* from, std::size_t bytes);
  /// Something of these bytes of the file waits here.
  bool touches(std::uint64_t address, std::size_t bytes) const;
  /// Writes all, and forgets it. What fails is kept for take_failure(); all else is written.
  void write(int file);
  /// The errno of what has failed since the last call, 0 for nothing.
  int take_failure() { return std::exchange(failed_, 0); }

 private:
  struct Piece {
    std::uint64_t address;
    const void* from;
    std::size_t bytes;
    std::uint64_t end() const { return address + bytes; }
  };
  bool follows(const Piece& piece, const Piece& before) const;
  int write_run(int file, std::size_t first, std::size_t last) const;

  std::map<const char*, const char*> lent_;      // begin -> end
  std::map<std::uint64_t, std::uint64_t> gaps_;  // begin -> end
  std::vector<Piece> pieces_;
  int failed_ = 0;  // errno
};

}  // namespace leat::hdf5
