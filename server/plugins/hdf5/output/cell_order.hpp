// SPDX-License-Identifier: Apache-2.0
// The option select-file of a store with layout="damaris": values in the order of cells.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "server/include/plugin.h"
#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/arrays/writer.hpp"

namespace leat::hdf5 {

// The index of a CellOrder in a file with layout="damaris": whose part of it is where, so that a server that takes over
// finds what the one before it has seen.

/// Beside the values: rank, number, position and length of each block, of one dimension. Nothing where
/// blocks lie on each other: then not all of their values are there.
void note_parts(hid_t dataset, const leat_variable& variable, const BlockList& blocks);

struct IndexPart {
  std::int32_t rank;
  std::uint32_t block;
  std::vector<std::int64_t> places;
};
/// Those of a variable in a file; none where it has nothing of that kind.
std::vector<IndexPart> stored_parts(hid_t file, const std::string& variable);

// The option select-file of a store with layout="damaris" and file-mode="Collective": a variable whose values
// go to the places of the global array that another variable, its index, has for them. So fields of a
// partitioned grid, which each rank has in an order of its own, are stored in the order of the cells.
//
// The index of a rank's block is the block of that rank and number which was written last: codes write
// it once, in their first iteration. A copy of each is kept, 8 bytes for each value; a server that takes
// over has them from the files.

class CellOrder {
 public:
  /// `text`: the option, "" for none. Throws when it names what the store does not have.
  CellOrder(const leat_run& run, const Host& host, const std::string& text);

  /// The indices among what an iteration has.
  void note(const std::vector<BlockList>& by_variable);
  /// Those that the server before this one has seen: of its files, the last one first.
  void recover(const std::vector<std::string>& files);
  bool has(std::uint32_t variable) const { return index_of_.count(variable) > 0; }
  bool is_index(std::uint32_t variable) const;

  struct Array {
    std::vector<std::uint8_t> values;  ///< of the global array
    bool has_holes;                    ///< some of them are fill values
  };
  /// Throws when a block has no index that fits it: then none of them has a place.
  Array arrange(std::uint32_t variable, const BlockList& blocks, std::uint64_t cells);

 private:
  using Places = std::vector<std::int64_t>;
  using Key = std::tuple<std::uint32_t, std::int32_t, std::uint32_t>;  // index, rank, block

  const Places& places_of(const leat_variable& variable, std::uint32_t index,
                          const leat_block& block, std::uint64_t cells) const;
  void warn_once(std::uint32_t variable, const std::string& what);
  std::uint32_t number_of(const std::string& name, const std::string& text) const;

  const leat_run& run_;
  Host host_;
  std::map<std::uint32_t, std::uint32_t> index_of_;  // by variable
  std::map<Key, Places> known_;
  std::set<std::string> warned_;
};

}  // namespace leat::hdf5
