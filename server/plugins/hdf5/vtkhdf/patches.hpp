// SPDX-License-Identifier: Apache-2.0
// The patches of an amr mesh, as the file's tables and variables have them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "server/plugins/hdf5/vtkhdf/field.hpp"

namespace leat::hdf5::vtk {

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

}  // namespace leat::hdf5::vtk
