// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/disk/committed_file.hpp"

namespace leat::hdf5 {

/// The memory of blocks, which is theirs as long as their iteration is being stored.
class Lent {
 public:
  Lent(CommittedFile& disk, const std::vector<BlockList>& by_variable) : disk_(disk) {
    std::vector<LentRange> ranges;
    for (const BlockList& blocks : by_variable) {
      for (const leat_block* block : blocks) ranges.push_back({block->data, block->bytes});
    }
    disk_.lend(ranges);
  }
  Lent(const Lent&) = delete;
  ~Lent() { disk_.return_lent(); }
  /// Or the errno of what could not be written.
  int give_back() { return disk_.return_lent(); }

 private:
  CommittedFile& disk_;
};

}  // namespace leat::hdf5
