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
#include "server/plugins/hdf5/conventions/mesh_axes.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

/// The scale of iterations, a dataset of their numbers; none when it is new.
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
};

class DimensionScales {
 public:
  /// Names of the run's variables are not used for anything else.
  DimensionScales(hid_t file, const leat_run& run);
  DimensionScales(hid_t file, std::set<std::string> variables);

  /// The scale of the iterations: a dataset of their numbers, to which the caller writes.
  Dataset& iteration() { return iteration_; }
  /// Names dimension `d` by the scale that it has in the file, or by the one for this name, length
  /// and values; who wishes no values takes any. Others are called "<name>_2", ...
  Dataset& name(Dataset& dataset, std::size_t d, const DimensionName& wish);
  /// `variable` is the scale of the dimension that is called like it, from now on.
  void take_coordinates(const Dataset& variable);
  /// `wished`, or with '_' behind it when that is the name of something else; taken from now on.
  /// A writer before this one gave the same name.
  std::string take_name(const std::string& wished);
  /// Whether what `take_name(wished)` will name is in the file.
  bool has(const std::string& wished) const;

 private:
  struct Scale {
    hsize_t length;  // at first
    std::optional<AxisValues> values;
    bool is_variable;
    std::unique_ptr<Dataset> dataset;

    bool fits(const DimensionName& wish) const;
  };

  Scale* known(const DimensionName& wish);
  Dataset& scale_for(const DimensionName& wish);
  Dataset& known_scale(const std::string& there, const DimensionName& wish);
  std::string name_for(const std::string& wished) const;
  std::string take_new_name(const std::string& wished);

  hid_t file_;
  std::set<std::string> taken_;
  std::map<std::string, std::vector<Scale>> scales_;  // by the name that was wished
  Dataset iteration_;
};

/// Where a store writes: its open file, and what all that is written there goes by. Outlived by
/// what is given.
struct Target {
  hid_t file;
  DimensionScales& scales;
  const leat_run& run;
  const std::string& time;  ///< what the coordinate of iterations is called now; "" for none
};

}  // namespace leat::hdf5
