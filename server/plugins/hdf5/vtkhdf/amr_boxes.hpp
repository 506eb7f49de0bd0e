// SPDX-License-Identifier: Apache-2.0
// The patches of an amr mesh that VTK is shown in each step, and where /VTKHDF says so.
#pragma once

#include <string>
#include <vector>

#include "server/plugins/hdf5/vtkhdf/patches.hpp"

namespace leat::hdf5::vtk {

/// VTK (9.7.2) uses the ratio of two levels without ever having set it where one of them has no box
/// (vtkOverlappingAMRMetaData::GenerateRefinementRatio), and asks for any amount of memory then. So
/// where a step has boxes, each level has one at least, which may stand in for patches: with the value
/// of the cell that it covers.
class AmrBoxes {
 public:
  /// Goes on with what is in the group.
  AmrBoxes(hid_t file, std::string group, const leat_mesh& mesh);

  std::size_t levels() const { return levels_.size(); }
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
