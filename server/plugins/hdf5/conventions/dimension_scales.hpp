// SPDX-License-Identifier: Apache-2.0
// Names of dimensions, as HDF5 dimension scales in the form that netCDF-4 gives them, so that
// xarray and netCDF tools show dimensions by name. Source: NetCDF-4 file format specification,
// "Dimensions" (Unidata).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

/// A dataset of the numbers of iterations; none when it is new.
Dataset make_iterations(hid_t file, const std::string& name);
/// Their numbers in ascending order.
std::vector<std::int64_t> numbers_in(const Dataset& iterations);
/// A dimension without coordinates.
Dataset make_dimension(hid_t file, const std::string& name, hsize_t length, bool grows);

/// What a dimension of a dataset is to be called.
struct DimensionName {
  std::string name;
  hsize_t length = 0;
  bool grows = false;  ///< has a scale of its own, of length 0 at first
  std::optional<AxisValues> values = {};
  Dataset* scale = nullptr;  ///< this one, which grows with the dimension
};

class DimensionScales {
 public:
  /// Names of the run's variables are not used for anything else.
  DimensionScales(hid_t file, const leat_run& run);
  DimensionScales(hid_t file, std::set<std::string> variables);

  /// The numbers of the iterations, a row for each, to which the caller writes: what has no number
  /// there is not in the file.
  Dataset& iteration() { return iteration_; }
  /// The scale of the rows: those numbers, or the times; none until name_rows() has been called for
  /// this file.
  const Dataset& rows() const { return rows_; }
  /// `scale`: a dataset with an element for each row, which becomes their coordinate variable.
  void name_rows(const Dataset& scale);
  /// Names the first dimension of a dataset that has a row for each iteration.
  void attach_rows(Dataset& dataset);
  /// Names dimension `d` by the scale that it has in the file, or by the one for this name, length
  /// and values; who wishes no values takes any. Others are called "<name>_2", ...
  Dataset& name(Dataset& dataset, std::size_t d, const DimensionName& wish);
  /// Dimension `d` of a dataset has become longer than its scale: readers that go by the scale would
  /// see a part of it. Names it by one that grows.
  void rename_outgrown(Dataset& dataset, std::size_t d, DimensionName wish);
  /// Path of the scale that dimension `d` of a dataset has in the file.
  std::string name_of(const Dataset& dataset, std::size_t d) {
    return path_of(dataset.scale_of(d));
  }
  /// Before a commit: scales list what has been named by them since, and have values as far as they
  /// have grown.
  void list_named();
  /// `variable` is the scale of the dimension that is called like it, from now on.
  void take_coordinates(const Dataset& variable);
  /// `wished`, or with '_' behind it when that is the name of something else; taken from now on.
  /// A writer before this one gave the same name.
  std::string take_name(const std::string& wished);
  /// Whether what `take_name(wished)` will name is in the file.
  bool has(const std::string& wished) const;
  /// Path of what is in the group of the store's own tables, which other people's tools need not
  /// look at; to be taken as any name.
  std::string in_own_group(const std::string& name) const { return own_group_ + name; }

 private:
  struct Scale {
    hsize_t length;  // at first
    std::optional<AxisValues> values;
    bool is_variable;
    std::unique_ptr<Dataset> dataset;
    std::unique_ptr<Dataset> bounds{};       // of its cells; none where they are not known
    hsize_t filled = dataset->extents()[0];  // so many values are in the file, where there are any

    bool fits(const DimensionName& wish) const;
    void fill();
  };

  Scale* known(const DimensionName& wish);
  Dataset& scale_for(const DimensionName& wish);
  void make_bounds(Scale* scale);
  std::string name_of_rows();
  std::string path_of(haddr_t scale);
  Dataset& known_scale(const std::string& there, const DimensionName& wish);
  std::string name_for(const std::string& wished) const;
  std::string take_new_name(const std::string& wished);

  hid_t file_;
  std::set<std::string> taken_;
  std::map<std::string, std::vector<Scale>> scales_;  // by the name that was wished
  std::string own_group_;                             // and '/'
  Dataset iteration_, rows_;
  std::map<haddr_t, std::string> paths_;  // of what a writer before this one has made
};

class BlockTables;
class MeshShapes;

/// Where a store writes: its open file, and what all that is written there goes by. Outlived by
/// what is given.
struct Target {
  hid_t file;
  DimensionScales& scales;
  const leat_run& run;
  /// What rows have for a coordinate beside the one that they are called after: the time, or the
  /// numbers of iterations where rows are called after the time; "" for none.
  const std::string& time;
  BlockTables& blocks;
  const MeshShapes& shapes;
};

}  // namespace leat::hdf5
