// SPDX-License-Identifier: Apache-2.0
// Whose the blocks are that have no place in a global array, and the dimensions that they and their elements lie along.
#pragma once

#include <compare>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/conventions/dimension_scales.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

// Dimensions of elements: variables whose blocks vary in size, and that have as many elements in
// each block, lie along one dimension, so that `x.where(type == 1)` selects particles. One that has
// other numbers of elements some day gets a dimension of its own; where its elements lie does not
// change.

/// Elements that a variable has in each block of a row, -1 where it has none of the block.
using ElementCounts = std::vector<std::int64_t>;

/// One such dimension.
class ElementDimension {
 public:
  /// `kind`: variables of other dimensions do not share it. `total`: elements so far.
  ElementDimension(Dataset scale, std::string kind, hsize_t total)
      : scale_(std::move(scale)), kind_(std::move(kind)), total_(total) {}

  /// Whether all along it had `before` elements before the row whose blocks begin at `first`, and
  /// have these in it. The first that asks for a row says what is in it.
  bool has(hsize_t first, hsize_t before, const ElementCounts& counts);
  /// The same for a variable that lies along it: always so where no other does.
  bool keeps(hsize_t first, hsize_t before, const ElementCounts& counts);
  void join() { ++variables_; }
  void leave() { --variables_; }
  Dataset& scale() { return scale_; }
  const std::string& name() const { return scale_.name(); }
  const std::string& kind() const { return kind_; }
  /// In a file that is gone on with, a variable of this dimension had so many.
  void had(hsize_t total) { total_ = std::max(total_, total); }

 private:
  Dataset scale_;
  std::string kind_;
  hsize_t total_;  // before the row
  hsize_t first_ = std::numeric_limits<hsize_t>::max();
  ElementCounts counts_;  // of the row
  int variables_ = 0;
};

hsize_t sum_of(const ElementCounts& counts);

/// A variable that looks for its dimension.
struct WantedElements {
  std::string kind;      ///< as of an ElementDimension; how the first dimension of a kind is called
  std::string own_name;  ///< of one that no other variable has
  hsize_t first = 0;     ///< as ElementDimension::has()
  ElementCounts counts;
};

/// Those of the variables that share a table of blocks.
class ElementDimensions {
 public:
  /// For a variable that has had no elements so far.
  ElementDimension& find_or_make(hid_t file, DimensionScales& scales, const WantedElements& wanted);
  /// One of its own for a variable that has had so many.
  ElementDimension& make(hid_t file, DimensionScales& scales, const WantedElements& wanted,
                         hsize_t total);
  /// That of a variable that is in the file, with its name there.
  ElementDimension& resume(hid_t file, const std::string& name, const std::string& kind,
                           hsize_t total);
  /// As DimensionScales::list_named().
  void list_named();

 private:
  std::vector<std::unique_ptr<ElementDimension>> all_;
};

// Whose the blocks are that have no place in a global array. Such blocks lie one behind the other, by
// iteration, level, rank and number, in "<variable>" (block, ...), and variables that have the same
// blocks share the dimension. Beside it, called after it:
//
//   <block>_rank, <block>_number, <block>_iteration (block)    whose each is, and when it was written
//   <block>_count (iteration)                                  blocks of each iteration
//   <block>_level (block), <block>_lo (block, axis)            of an amr mesh: its level, and its first
//                                                              cell among those of the level
//
// So the blocks of a level in an iteration are neighbours, in one run. All variables on an amr mesh
// share one table.
//
// What does not vary in time has a table without iterations.

class DimensionScales;

/// The attribute of a variable that has the name of its table: a text of fixed length.
inline constexpr const char* kBlockTable = "leat_blocks";

/// Name of the table that most variables of a run have.
inline constexpr const char* kUsualBlockTable = "block";
/// Suffixes of what a table has of an amr mesh only.
inline constexpr const char* kLevelSuffix = "_level";
inline constexpr const char* kFirstCellSuffix = "_lo";
struct BlockOwner {
  std::int64_t rank = 0, number = 0;
  auto operator<=>(const BlockOwner&) const = default;
};

/// What a table says of a block, in the order of its blocks.
struct BlockEntry {
  std::int64_t level = -1;  ///< none
  BlockOwner owner;
  std::vector<std::int64_t> low;  ///< its first cell among those of the level
  auto operator<=>(const BlockEntry&) const = default;
};
using BlockEntries = std::set<BlockEntry>;

/// That of a block of a variable on an amr mesh, or on none.
BlockEntry entry_of(const leat_variable& variable, const leat_block& block);
/// The mesh of a variable when that is an amr mesh, else none.
const leat_mesh* amr_mesh_of(const leat_run& run, const leat_variable& variable);

/// What the levels of an amr mesh are. Origin and spacing, of level 0, are in the order of a layout's
/// dimensions, as in "<block>_lo".
struct Levels {
  explicit Levels(const leat_mesh& mesh);
  /// As noted at "<block>_level".
  explicit Levels(hid_t noted_at);
  void note_at(hid_t dataset) const;

  std::string mesh, unit;
  std::int64_t ratio = 2;
  std::vector<double> origin, spacing;
  bool operator==(const Levels&) const = default;
};

/// Where a table is made, or was.
struct BlockTablePlace {
  hid_t file;
  DimensionScales& scales;
  const std::string& time;  ///< as in Target
};

/// The table in a file that is written: of a store, row by row, or of a view, at once. StoredBlockTable
/// (tables.hpp) is the same for who reads.
class BlockTable {
 public:
  /// Whose blocks it has.
  struct Kind {
    bool has_rows = true;
    std::optional<Levels> levels{};  ///< of the amr mesh that they are patches of; none for others
    bool operator==(const Kind&) const = default;
  };
  /// All rows of a table, one behind the other.
  struct Content {
    std::vector<BlockEntry> entries;
    std::vector<std::int64_t> iterations;  ///< by entry
    std::vector<std::int64_t> counts;      ///< of entries, by row
  };
  /// Makes it for about as many blocks in each iteration as the `first` has, or goes on with what is
  /// there. `rows`: iterations of the file.
  BlockTable(const BlockTablePlace& place, const std::string& name, const Kind& kind, hsize_t rows,
             const BlockEntries& first);
  /// Makes it with all that comes into it, and compressed where that is much.
  BlockTable(const BlockTablePlace& place, const std::string& name, const Kind& kind,
             const Content& content);
  BlockTable(const BlockTable&) = delete;

  /// These blocks come in the next row.
  void want(const BlockEntries& entries) { wanted_.insert(entries.begin(), entries.end()); }
  void want_none() { wanted_.clear(); }
  const BlockEntries& wanted() const { return wanted_; }
  /// Notes whose the blocks of a row are that are wanted; none where nobody wants any.
  void begin_row(hsize_t row, std::int64_t iteration);
  /// For rows of before there was the table: each had this one block.
  void take_rows(const std::vector<std::int64_t>& iterations, const BlockOwner& owner);
  /// The file has `rows` iterations.
  void grow_to_rows(hsize_t rows);

  /// Where the block lies that came in this row. Throws when the row could not be begun.
  std::optional<hsize_t> record_of(const BlockEntry& entry) const;
  /// Blocks of this row begin here; of what does not vary in time, all.
  hsize_t first() const { return first_; }
  /// Of all rows.
  hsize_t size() const { return size_; }
  const std::string& name() const { return scale_.name(); }
  Dataset& scale() { return scale_; }
  ElementDimensions& elements() { return elements_; }
  void list_named();
  bool has_rows() const { return kind_.has_rows; }
  const Kind& kind() const { return kind_; }
  /// Names of what says whose the blocks are, for the attribute `coordinates`.
  std::vector<std::string> coordinates() const;

 private:
  struct ListForm;
  Dataset make_list(const BlockTablePlace& place, const char* suffix, const ListForm& form) const;
  void make_lists(const BlockTablePlace& place, std::int64_t furthest, hsize_t rows_at_once);
  bool has_room_for(const BlockEntry& entry) const;
  void append(const std::vector<BlockEntry>& entries, const std::vector<std::int64_t>& iterations);
  void resume(hsize_t rows);

  Kind kind_;
  hsize_t at_once_;  // blocks that come together
  bool is_packed_;
  Dataset scale_, ranks_, numbers_, iterations_, counts_, levels_, lows_;
  hsize_t first_ = 0, size_ = 0;
  ElementDimensions elements_;
  BlockEntries wanted_;
  std::map<BlockEntry, hsize_t> records_;  // of this row
  std::string failed_;                     // why the row was not begun
};

/// The blocks of a variable in one iteration.
struct WantedBlocks {
  std::uint32_t variable;
  std::string shape;  ///< those who say the same share a table, whatever comes
  BlockTable::Kind kind;
  BlockEntries entries;
};

class BlockTables {
 public:
  BlockTables(const BlockTablePlace& place, const leat_run& run) : place_(place), run_(run) {}

  /// That of a variable; none for those that have one block in each iteration, which is all of it.
  BlockTable* of(std::uint32_t variable) const;
  /// The variable is in the file, with a table of this name.
  void resume(std::uint32_t variable, const WantedBlocks& described, const std::string& name,
              hsize_t rows);
  /// The first blocks of a variable are one in each iteration, of these extents.
  void note_single(std::uint32_t variable, Shape extents) {
    single_.try_emplace(variable, std::move(extents));
  }
  /// Those extents; null where there are, or were, other blocks.
  const Shape* single(std::uint32_t variable) const {
    const auto found = single_.find(variable);
    return found == single_.end() ? nullptr : &found->second;
  }
  /// Gives each variable its table, and each table its blocks of this row. A variable that was
  /// single is none any more. `pending`: numbers of the last rows before, which the scale of the
  /// iterations does not have yet.
  void begin_row(hsize_t row, std::int64_t iteration, const std::vector<WantedBlocks>& wanted,
                 const std::vector<std::int64_t>& pending);
  void grow_to_rows(hsize_t rows);
  /// Writes down what is named by their dimensions.
  void list_named();

 private:
  BlockTable* table_for(const WantedBlocks& wanted, hsize_t row,
                        const std::vector<std::int64_t>& pending);
  BlockTable* make(const WantedBlocks& wanted, hsize_t rows);

  BlockTablePlace place_;
  const leat_run& run_;
  std::vector<std::unique_ptr<BlockTable>> tables_;
  std::map<std::uint32_t, BlockTable*> of_;
  std::map<std::string, BlockTable*> by_shape_;  // those of constants begin with a '='
  std::map<std::uint32_t, Shape> single_;
  std::set<const BlockTable*> converted_;  // in this row
};

}  // namespace leat::hdf5
