// SPDX-License-Identifier: Apache-2.0
// Dimensions of elements: variables whose blocks vary in size, and that have as many elements in
// each block, lie along one dimension, so that `x.where(type == 1)` selects particles. One that has
// other numbers of elements some day gets a dimension of its own; where its elements lie does not
// change.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "server/plugins/hdf5/conventions/dimension_scales.hpp"

namespace leat::hdf5 {

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
  ElementDimension& take_up(hid_t file, const std::string& name, const std::string& kind,
                            hsize_t total);
  /// As DimensionScales::list_named().
  void list_named();

 private:
  std::vector<std::unique_ptr<ElementDimension>> all_;
};

}  // namespace leat::hdf5
