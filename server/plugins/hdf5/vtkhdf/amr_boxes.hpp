// SPDX-License-Identifier: Apache-2.0
// The patches of an amr mesh, as the file has them and as VTK is shown them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/plugins/hdf5/vtkhdf/field.hpp"

namespace leat::hdf5::vtk {

// The patches of an amr mesh, as the file's tables and variables have them.

/// Cells of a level, none of them a ghost; numbers in the order of a layout's dimensions.
struct Patch {
  std::size_t level = 0;
  std::vector<std::int64_t> low;
  Shape extents;
};

/// Where the patches of a variable lie in its dataset, element by element.
class PatchValues {
 public:
  PatchValues(const Target& target, const Field& field);
  struct Block {
    hsize_t record = 0;  ///< in the table of blocks
    hsize_t first = 0;   ///< element
    Shape extents;
  };
  /// Those of a row that have cells, ordered as in the table. A variable of one block size has a place
  /// for each of the table, with fill values where it was not written.
  std::vector<Block> at(hsize_t row);
  /// Whether all blocks have the size that they have room for.
  bool fills_places() const;
  /// Whether its dataset is one list of elements.
  bool is_list() const { return field_.form == Field::Form::ragged && field_.shape.empty(); }
  /// Of the dataset as it is, all elements.
  Shape extents() const { return extents_in(target_.values, field_.path()); }
  const Field& field() const { return field_; }

 private:
  Target target_;
  Field field_;
  BlockRecords records_;
  RowTable extents_;  // of blocks, where they have shapes of their own
};

/// All of a mesh.
class Patches {
 public:
  Patches(const Target& target, const leat_mesh& mesh) : target_(target), mesh_(mesh) {}
  /// Whether the file has something of it.
  bool is_there() const;
  /// Of a row, ordered as in the table, by level first. One that no variable has is none.
  std::vector<Patch> at(hsize_t row);

 private:
  void look_for_variables();
  std::optional<Field> patched(std::uint32_t variable) const;

  Target target_;
  const leat_mesh& mesh_;
  std::vector<PatchValues> values_;  // of each variable that the file has
  std::set<std::uint32_t> known_;
  StoredBlockTable* table_ = nullptr;  // of the first of them
};

// The patches of an amr mesh that VTK is shown in each step, and where /VTKHDF says so.

/// VTK (9.7.2) uses the ratio of two levels without ever having set it where one of them has no box
/// (vtkOverlappingAMRMetaData::GenerateRefinementRatio), and asks for any amount of memory then. So
/// where a step has boxes, each level has one at least, which may stand in for patches: with the value
/// of the cell that it covers.
class AmrBoxes {
 public:
  /// Goes on with what is in the group.
  AmrBoxes(hid_t file, std::string group, const leat_mesh& mesh);

  std::size_t levels() const { return levels_.size(); }
  hsize_t steps() const { return levels_.empty() ? 0 : levels_[0].count.size(); }
  std::string group_of(std::size_t level) const { return group_ + "/" + name_of(level); }
  std::string steps_of(std::size_t level) const { return group_ + "/Steps/" + name_of(level); }

  /// Throws what stands against so many levels and these patches, before anything is made.
  void expect_room(std::size_t levels, const std::vector<Patch>& patches) const;
  void add_level();
  /// Of patches in the order of their levels, which are there.
  void put(hsize_t step, const std::vector<Patch>& patches);
  /// Writes what has been put; `steps`: there are. Boxes of a single step are all of their level's: VTK
  /// knows no offsets then.
  void show(hsize_t steps);

  /// Of all levels, the coarsest first; without those that stand in for others.
  std::vector<Patch> at(hsize_t step) const;
  bool stands_in(hsize_t step, std::size_t level) const {
    return step < levels_[level].stand_in.size() && levels_[level].stand_in[step] != 0;
  }
  /// Of the box that stands in for a level.
  hsize_t cells_of_stand_in(hsize_t step, std::size_t level) const;

 private:
  struct Level {
    List counts, firsts, stand_ins;
    std::vector<std::int64_t> count, first, stand_in;  // the same, by step
  };

  static std::string name_of(std::size_t level) { return "Level" + std::to_string(level); }
  void open_lists();
  void put(hsize_t step, std::size_t number, std::vector<Patch> patches,
           const std::vector<Patch>& all);
  Patch stand_in_for(hsize_t step, std::size_t level, const Patch& coarsest) const;
  void expect_refined(Patch patch, std::size_t end) const;
  std::vector<std::int64_t> numbers_at(hsize_t step, std::size_t level) const;
  std::vector<Patch> patches_at(hsize_t step, std::size_t level) const;
  Patch patch_of(std::size_t level, const std::int64_t* box) const;

  hid_t file_;
  std::string group_;
  const leat_mesh& mesh_;
  Dataset data_;
  std::vector<Level> levels_;
  std::int64_t rows_ = 0;  // of data_
};

}  // namespace leat::hdf5::vtk
