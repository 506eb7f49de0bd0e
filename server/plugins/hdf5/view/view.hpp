// SPDX-License-Identifier: Apache-2.0
// A view while it is made: the parts, and the file in which each variable becomes one dataset, as
// if one server had written them all. docs/design/views.md says what becomes of what.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "server/plugins/hdf5/conventions/dimension_scales.hpp"
#include "server/plugins/hdf5/view/part.hpp"
#include "server/plugins/hdf5/view/rows.hpp"
#include "server/plugins/hdf5/view/virtual_dataset.hpp"

namespace leat::hdf5 {

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
