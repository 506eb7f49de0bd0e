// SPDX-License-Identifier: Apache-2.0
// A dataset of the view whose values lie in the parts. Source: HDF5 reference manual,
// H5Pset_virtual.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"
#include "server/plugins/hdf5/view/part.hpp"

namespace leat::hdf5 {

/// A box in a part and a box of as many elements in the view, `times` times: each time further
/// along the first dimension by a step.
struct Mapping {
  std::size_t part = 0;
  Shape from, from_count, to, to_count;
  hsize_t times = 1, from_step = 1, to_step = 1;
};

/// Joins boxes that follow each other at equal steps along the first dimension. To be given them in
/// the order of that.
class MappingList {
 public:
  void add(Mapping mapping);
  const std::vector<Mapping>& all() const { return all_; }

 private:
  using Key = std::tuple<std::size_t, Shape, Shape, Shape, Shape>;
  std::vector<Mapping> all_;
  std::map<Key, std::size_t> last_;
};

/// What is mapped: dataset `source` of each part, of those extents there; {} where a part has none.
struct VirtualPlan {
  std::string name, source;
  Shape extents;
  std::vector<std::string> files;  ///< of the parts, as the view names them
  std::vector<Shape> source_extents;
  std::vector<Mapping> mappings;
};

/// Creates it in `file`, with type, fill value and attributes of `like`.
void create_virtual(hid_t file, const VirtualPlan& plan, hid_t like);

}  // namespace leat::hdf5
