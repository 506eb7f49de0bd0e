// SPDX-License-Identifier: Apache-2.0
// What variables in blocks without a global array share: the dimension of their blocks, and tables
// along it.
#pragma once

#include <utility>
#include <vector>

#include "server/plugins/hdf5/arrays/writer.hpp"

namespace leat::hdf5 {

class BlockAxes : public Axes {
 public:
  using Axes::Axes;

  /// Whose the blocks of the variable are; none where each iteration has one block.
  BlockTable* block_table() const { return table(); }
  /// Creates the variable's dataset of (block, rest...), `at_once` blocks in the first iteration.
  Dataset make_blocks(const Shape& rest, hsize_t at_once) const;
  /// Makes one that make() has made one of blocks, with a block for each iteration so far.
  void take_blocks(Dataset* dataset) const;
  /// The dimension that elements of blocks lie along: of a variable with these in the first row that
  /// has any; that which it has in the file, where there are `total`; and one of its own in its place, when it
  /// had `total` before this row.
  ElementDimension& elements_for(const ElementCounts& counts) const;
  ElementDimension& elements_in_file(hsize_t total) const;
  ElementDimension& own_elements(ElementDimension* before, hsize_t total,
                                 const ElementCounts& counts, Dataset* dataset) const;
  /// A dataset of the variable's type without iteration dimension, to which iterations are
  /// appended, about `rows_at_once` rows at each.
  Dataset make_appended(const Shape& extents, hsize_t rows_at_once,
                        const std::vector<DimensionName>& names) const;
  /// Blocks in the order in which they lie in the table, with their places. Those that have none are
  /// added to `errors`. Throws when there is no place for any.
  std::vector<std::pair<hsize_t, const leat_block*>> by_record(const BlockList& blocks,
                                                               BlockErrors* errors) const;
  /// A table of integers of (block, rest...). `names`: of rest.
  Dataset make_block_table(const TableKind& kind, const Shape& rest,
                           const std::vector<DimensionName>& names) const;
  /// Whether the variable has each block.
  Dataset make_stored_mask() const;
  bool has_mask() const { return target_.scales.has(name() + kStoredSuffix); }

 private:
  WantedElements wanted_elements(const ElementCounts& counts) const;
};

}  // namespace leat::hdf5
