// SPDX-License-Identifier: Apache-2.0
// One variable in the file: what writers of all forms share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/conventions/block_table.hpp"
#include "server/plugins/hdf5/conventions/dimension_scales.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

// One variable in the file. Which form it has depends on its layout:
//
//   GridWriter    global shape    (iteration, global...), placed by position, ghosts left out
//   BlocksWriter  fixed blocks    (iteration, dims...) for one, else (block, dims...)
//   RaggedWriter  varying blocks  (elements, dims...), one after the other, and their counts
//
// Whose the blocks are a BlockTable says. Variables that do not vary in time have no iteration
// dimension.

/// Blocks of one variable in one iteration, ordered by rank and block.
using BlockList = std::vector<const leat_block*>;

/// Collects what went wrong with single blocks while others are written.
class BlockErrors {
 public:
  explicit BlockErrors(std::string variable) : variable_(std::move(variable)) {}
  void add(const leat_block& block, const std::string& why);
  /// write(); what it throws is an error of this block.
  template <class Write>
  void attempt(const leat_block& block, const Write& write) {
    try {
      write();
    } catch (const std::exception& e) {
      add(block, e.what());
    }
  }
  /// Throws when there were any.
  void raise() const;

 private:
  std::string variable_, first_;
  std::size_t count_ = 0;
};

class Writer {
 public:
  virtual ~Writer() = default;
  /// Writes the blocks of row `row` of the file, at least one, all checked by check_block. Blocks
  /// that could not be written are added to `errors`, the others are in the file; throws when the
  /// reason is none of single blocks.
  virtual void write(hsize_t row, const BlockList& blocks, BlockErrors* errors) = 0;
  /// The file has `rows` iterations: where nothing was written are fill values.
  virtual void grow_to_rows(hsize_t rows) = 0;
};

/// The writer for a variable whose first blocks these are; makes its datasets. `first` is empty for
/// a variable whose datasets are in the file.
using MakeWriter = std::unique_ptr<Writer>(const Target& target, const leat_variable& variable,
                                           const BlockList& first);
MakeWriter make_writer, make_grid_writer, make_blocks_writer, make_ragged_writer,
    make_sub_array_writer;

/// What all forms share: the iteration dimension, or none, and the names of dimensions.
class Axes {
 public:
  Axes(const Target& target, const leat_variable& variable);

  bool has_rows() const { return variable_.time_varying != 0; }
  /// {row, rest...}, or only the rest for a variable that does not vary in time.
  Shape with_row(hsize_t row, const Shape& rest) const;
  /// Creates the variable's dataset of (iteration, rest...). `names`: one for each of the rest.
  /// Chunks are made for pieces of this shape, all of `rest` or a part of which it is made.
  Dataset make(const Shape& rest, const std::vector<DimensionName>& names,
               const Shape& piece) const;
  /// A table of integers with some numbers in each iteration.
  Dataset make_table(const TableKind& kind, const DimensionName& of_numbers) const;
  /// Whether it is there already.
  bool has_table(const TableKind& kind) const;
  /// Writes a row of a table.
  void put_row(Dataset& table, hsize_t row, const std::vector<std::int64_t>& numbers) const;
  /// A list of records of `width` integers each, empty at first; about `at_once` come together.
  Dataset make_list(const std::string& suffix, hsize_t width, hsize_t at_once) const;
  /// Extents of the variable's dataset in the file.
  Shape stored_extents() const;
  /// The same without iteration dimension.
  Shape stored_rest() const;
  DimensionName name_of(unsigned dimension, hsize_t length) const;
  /// The same with what the mesh says of places; for arrays that begin where the mesh begins.
  DimensionName place_name_of(unsigned dimension, hsize_t length) const;
  /// Makes the variable's dataset as long as this, and what names its dimensions with it; `has_places`:
  /// it begins where the mesh begins.
  void grow(Dataset& dataset, const Shape& extents, bool has_places) const;
  /// Those of all dimensions; with the middles of cells whose nodes are in the file.
  std::vector<DimensionName> place_names(const Shape& extents) const;
  std::string name() const { return variable_.name; }
  /// In the group of the store's own tables.
  std::string own(const std::string& name) const;

 protected:
  // A compressed chunk that is written again takes a new place in the file, and its old one is lost:
  // so each is written once, by one iteration, which for fewer bytes than these is not worth it.
  static constexpr std::uint64_t kSmallestCompressed = 4ull * 1024;

  enum class Front { nothing, iterations, blocks };  // the dimension in front of all others
  Dataset make_from(DatasetPlan plan, Front front, const std::vector<DimensionName>& names) const;
  std::vector<std::string> name_scales(Dataset& dataset, Front front,
                                       const std::vector<DimensionName>& names) const;
  std::string coordinates_behind(Front front) const;
  std::uint64_t bytes_of(const Shape& extents) const;
  /// Of rows of one variable.
  std::uint64_t bundle() const;
  BlockTable* table() const { return target_.blocks.of(number_); }

  Target target_;
  const leat_variable& variable_;

 private:
  std::string wished_name(const TableKind& kind) const;
  Front rows_in_front() const { return has_rows() ? Front::iterations : Front::nothing; }
  void label(Dataset& dataset, const std::vector<std::string>& of_scales) const;
  std::optional<AxisValues> between(unsigned dimension, hsize_t cells) const;

  std::uint32_t number_;
};

/// Of a variable in one iteration: the blocks that make sense, and why the others do not.
struct SoundBlocks {
  std::uint32_t variable;
  BlockList list;
  BlockErrors errors;
};
std::vector<SoundBlocks> sound_of(const leat_run& run, const std::vector<BlockList>& by_variable);

// What variables in blocks without a global array share: the dimension of their blocks, and tables
// along it.

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
