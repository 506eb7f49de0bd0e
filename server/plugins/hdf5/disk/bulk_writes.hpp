// SPDX-License-Identifier: Apache-2.0
// Values of arrays on their way to the file and to the disk.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/plugins/common/direct_io.hpp"
#include "server/plugins/common/io_choice.hpp"

namespace leat::hdf5 {

// Small pieces of bulk data that go to the file together: of 64 KiB each, one write of 16 takes
// little more than half of the time of 16 writes.
//
// They are not copied: only what lies in memory that is lent, which stays as it is until write(),
// waits here. Pieces are in the order of their addresses, and no two overlap.

struct LentRange {
  const void* begin;
  std::size_t bytes;
};

class WriteCombiner {
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

// Large pieces of an iteration's data, on the way past the page cache that IoChoice chooses.

class DirectWriter {
 public:
  /// Of this open file. All go through the page cache until choose().
  explicit DirectWriter(int file) : file_(file) {}
  /// 0, or the errno for which they cannot go as asked for: Io::automatic always can.
  int choose(Io io);
  /// The file is another one now.
  void move_to(int file);

  /// An iteration begins, whose blocks lie there; `waiting` more are behind it. Where large pieces
  /// of it are to lie behind the begin of a page; nothing when it has none.
  std::optional<std::uint64_t> begin(const std::vector<LentRange>& blocks, std::uint64_t waiting);
  /// Whether this piece goes past the page cache.
  bool take(std::uint64_t address, const void* from, std::size_t bytes) const {
    return choice_.is_direct() && direct_.fits(address, from, bytes);
  }
  /// Writes one that does. 0 or an errno.
  int write(std::uint64_t address, const void* from, std::size_t bytes);

  /// As that of IoChoice.
  std::string summary() const { return choice_.summary(); }

 private:
  int file_;
  DirectIo direct_;
  IoChoice choice_{Io::buffered};
};

// Has the system write a file to the disk while it grows. Left to itself, it begins when a tenth of
// the memory waits to be written, and the fsync at the end of a run then takes minutes on a large
// node.

/// A thread of its own, since the system makes who asks wait when the disk has much to do.
class EarlyWriteback {
 public:
  EarlyWriteback() = default;
  EarlyWriteback(const EarlyWriteback&) = delete;
  ~EarlyWriteback() { stop(); }

  /// What is in the file `fd` from the last such place up to `end` goes to the disk soon, when that
  /// is worth while. Does not wait, and does not say whether it got there: fsync does. `fd` stays
  /// open till stop().
  void upto(int fd, std::uint64_t end);
  /// Nothing is asked of `fd` any more. The last call.
  void stop();

 private:
  void run(int fd);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t asked_ = 0, wanted_ = 0;  // ends
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace leat::hdf5
