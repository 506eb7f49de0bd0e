// SPDX-License-Identifier: Apache-2.0
// The cells of a variable on an amr mesh, as its levels are shown them in /VTKHDF.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/vtkhdf/amr_boxes.hpp"
#include "server/plugins/hdf5/vtkhdf/patches.hpp"

namespace leat::hdf5::vtk {

/// Elements of a level in a step.
struct Run {
  hsize_t first = 0, count = 0;
};

/// A variable in one list of cells, the same one for all levels: itself, or a virtual dataset that has
/// it so, behind the values of boxes that stand in for patches, of which there may come more. It is
/// made anew when there are more cells: HDF5 1.10 ends with a crash where it reads what the source does
/// not have, and maps what grows in no other shape. Of a single step each level has its own part.
class CellList {
 public:
  CellList(const Target& target, const PatchValues& values, const AmrBoxes& boxes,
           const std::string& group, std::string name);

  /// Adds the value of a cell so many times to what stands in; returns where it is in that list.
  hsize_t add_stand_in(hsize_t element, hsize_t count);
  /// Of all that stands in, and of the list, in elements.
  hsize_t stood_in() const { return stand_ins_.exists() ? stand_ins_.extents()[0] : 0; }
  hsize_t first_of_data() const;

  /// Shows all, the variable itself from element `first` on.
  void show_all(hsize_t first);
  /// Whether it shows all that there is.
  bool is_current(hsize_t first) const;
  /// The same to levels that have come since.
  void link_levels() const;
  /// A level gets a part of its own: these elements; or one, so many times.
  void show_run(std::size_t level, const Run& run) const;
  void show_copies(std::size_t level, hsize_t element, hsize_t count) const;
  void remove() const;

 private:
  std::string name_at(std::size_t level) const {
    return boxes_.group_of(level) + "/CellData/" + name_;
  }
  std::string source() const { return values_.field().path(); }
  // Along the first dimension of the variable's dataset.
  hsize_t rows() const { return values_.extents()[0]; }
  hsize_t cells() const { return std::max<hsize_t>(1, product(values_.field().shape)); }
  Id type() const { return type_of(values_.field().variable->type); }
  Id made_of(const std::string& name, hsize_t elements, const std::vector<Shown>& parts) const;
  std::vector<std::uint8_t> copies(hsize_t element, hsize_t count) const;

  Target target_;
  const PatchValues& values_;
  const AmrBoxes& boxes_;
  std::string name_, stand_ins_name_;
  Dataset stand_ins_;
};

}  // namespace leat::hdf5::vtk
