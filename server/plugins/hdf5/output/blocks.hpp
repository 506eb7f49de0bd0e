// SPDX-License-Identifier: Apache-2.0
// Blocks of an iteration, in the order in which a store writes them, and their memory.
#pragma once

#include <algorithm>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/disk/committed_file.hpp"

namespace leat::hdf5 {

/// For each variable: what gives dimensions their coordinates comes before what only names them.
inline std::vector<int> places_of(const leat_run& run) {
  std::vector<int> places;
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const leat_variable& variable = *leat_variable_at(&run, i);
    places.push_back(is_coordinate_variable(variable)      ? 0
                     : leat_variable_mesh(&run, &variable) ? 1
                                                           : 2);
  }
  return places;
}

/// A list for each variable.
inline std::vector<BlockList> by_variable_of(const leat_iteration_data& data,
                                             const std::vector<int>& places) {
  std::vector<BlockList> lists;
  for (const leat_block& block : Blocks(data)) {
    if (lists.empty() || lists.back().front()->variable != block.variable) lists.emplace_back();
    lists.back().push_back(&block);
  }
  const auto place = [&places](const BlockList& blocks) {
    return places[blocks.front()->variable];
  };
  std::stable_sort(lists.begin(), lists.end(), [&place](const BlockList& a, const BlockList& b) {
    return place(a) < place(b);
  });
  return lists;
}

/// The memory of blocks, which is theirs as long as their iteration is being stored; `waiting` more
/// iterations are behind it.
class Lent {
 public:
  Lent(CommittedFile& disk, const std::vector<BlockList>& by_variable, std::uint64_t waiting)
      : disk_(disk) {
    std::vector<LentRange> ranges;
    for (const BlockList& blocks : by_variable) {
      for (const leat_block* block : blocks) ranges.push_back({block->data, block->bytes});
    }
    disk_.lend(ranges, waiting);
  }
  Lent(const Lent&) = delete;
  ~Lent() { disk_.return_lent(); }
  /// Or the errno of what could not be written.
  int give_back() { return disk_.return_lent(); }

 private:
  CommittedFile& disk_;
};

}  // namespace leat::hdf5
