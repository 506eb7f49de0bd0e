// SPDX-License-Identifier: Apache-2.0
// Large pieces of an iteration's data, on the way past the page cache that IoChoice chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/plugins/common/direct_io.hpp"
#include "server/plugins/common/io_choice.hpp"
#include "server/plugins/hdf5/disk/gathered.hpp"

namespace leat::hdf5 {

class LargePieces {
 public:
  /// Of this open file. All go through the page cache until choose().
  explicit LargePieces(int file) : file_(file) {}
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

}  // namespace leat::hdf5
