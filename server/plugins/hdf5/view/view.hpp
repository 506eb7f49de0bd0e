// SPDX-License-Identifier: Apache-2.0
// What a view is made with: virtual datasets, and names of their dimensions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/dimension_scales.hpp"
#include "server/plugins/hdf5/view/part.hpp"

namespace leat::hdf5 {

// What views and merged files take over from other files as it is.

/// All attributes but those that name other objects, those of dimension scales, and those that are
/// there already. `but`: others that are not copied.
void copy_attributes(hid_t from, hid_t to, const std::vector<std::string>& but = {});
/// From one property list of a dataset to another.
void copy_fill_value(hid_t from, hid_t to, hid_t type);
/// For a dataset that may grow and has no values, or few.
void set_small_chunks(hid_t creation, const Shape& extents);
/// Copies a dataset with its values, which are few, and its attributes.
void copy_whole(hid_t from_file, const std::string& from, hid_t to_file, const std::string& to);

/// Names the dimensions of `to` by the scales of `file` that are called `prefix` and what those of
/// `from` are called.
void copy_scales(hid_t from, hid_t to, hid_t file, const std::string& prefix);
/// Name of a dimension: its label, else its scale's without folders; "" when it has none.
std::string dimension_name(hid_t dataset, unsigned d);
/// Paths of all datasets below `group` ("" for all), not in the order of their making.
std::vector<std::string> datasets_in(hid_t file, const std::string& group = "");

// A dataset of the view whose values lie in the parts. Source: HDF5 reference manual,
// H5Pset_virtual.

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
  std::vector<std::string> roots;  ///< where the parts are in them: Part::root
  std::vector<Shape> source_extents;
  std::vector<Mapping> mappings;
};

/// Creates it in `file`, with type, fill value and attributes of `like`.
void create_virtual(hid_t file, const VirtualPlan& plan, hid_t like);

// A view while it is made: the parts, and the file in which each variable becomes one dataset, as
// if one server had written them all. docs/design/views.md says what becomes of what.

class MergedTables;

struct View {
  hid_t file;
  const std::vector<Part>& parts;
  const std::vector<std::string>& files;  ///< of the parts, from the view's folder
  const Rows& rows;
  DimensionScales& scales;
  std::string time;            ///< the coordinate of iterations; "" for none
  MergedTables& tables;        ///< of blocks
  std::set<std::string> done;  ///< datasets of the parts that the view has, or needs not
  const leat_run* run;         ///< as the parts describe it; null where they do not
  /// What the view has by now of coordinates of one dimension that do not vary in time, by name.
  std::map<std::string, std::vector<double>> nodes{};
};

/// One variable in the parts.
struct ViewedVariable {
  std::string name, layout;
  std::int64_t number = 0;            ///< in the XML
  bool constant = false;              ///< it does not vary in time
  std::vector<Id> in_part;            ///< not open where a part has none of it
  std::size_t first = 0;              ///< the first part that has
  std::set<std::size_t> unlike;       ///< parts that are left out of it
  std::vector<std::string> left_out;  ///< and why, by lines
  hid_t like() const { return in_part[first]; }
};

/// Without those that show the others (Part::shows_vtk).
std::vector<std::string> own_datasets_in(const Part& part);
/// A dataset of one of several servers has its blocks in slots; that of the only one is the whole array.
bool has_slots(hid_t dataset);
/// It has a global shape, or one block in each iteration: rows of it are arrays.
bool is_array(const ViewedVariable& variable);

/// The first part whose dataset of this name has the largest type: what the others have fits into
/// that. `first` is one that has the dataset.
std::size_t widest_part(const View& view, const std::string& name, std::size_t first);

/// A plan for a dataset called `source` in the parts; without mappings. Of those that are left
/// out it knows nothing.
VirtualPlan plan_for(const View& view, const std::string& name, const std::string& source,
                     const Shape& extents, const std::set<std::size_t>& left_out = {});
/// Names the dimensions of a dataset of the view; `names` are those behind the iteration, or the
/// `blocks`.
/// `labels`, when there are any, are the names that a reader is to see.
void name_dimensions(const View& view, const std::string& dataset, Dataset* blocks,
                     const std::vector<DimensionName>& names,
                     const std::vector<std::string>& labels = {});
void name_dimensions(const View& view, const std::string& dataset, bool with_rows,
                     const std::vector<DimensionName>& names,
                     const std::vector<std::string>& labels = {});
/// Of the last `dims` dimensions in the parts.
std::vector<std::string> own_dimensions(const ViewedVariable& variable, std::size_t dims);

/// Whether a part has written the variable in each of its rows; {} for all.
std::vector<std::uint8_t> written_rows(const View& view, const ViewedVariable& variable,
                                       std::size_t part);

void add_global(View& view, const ViewedVariable& variable);
void add_blocks(View& view, const ViewedVariable& variable);
void add_ragged(View& view, const ViewedVariable& variable);
/// In which row what does not vary in time was written.
void add_first_row(View& view, const ViewedVariable& variable);
/// "<variable>_written", when it is not in all iterations.
void add_written_mask(View& view, const ViewedVariable& variable);
/// Parameters, what others have put into the parts, results of scripts, ledgers.
void add_others(View& view);
void add_nodes(View& view);

}  // namespace leat::hdf5
