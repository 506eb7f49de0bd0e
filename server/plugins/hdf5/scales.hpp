// SPDX-License-Identifier: Apache-2.0
// Names of dimensions, as HDF5 dimension scales in the form that netCDF-4 gives them, so that
// xarray and netCDF tools show dimensions by name. Source: NetCDF-4 file format specification,
// "Dimensions" (Unidata).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/dataset.hpp"

namespace leat::hdf5 {

/// The scale of the iterations: a dataset of their numbers, to which the caller writes.
Dataset make_iterations(hid_t file, const std::string& name);
/// A dimension without coordinates.
Dataset make_dimension(hid_t file, const std::string& name, hsize_t length, bool grows);

class Scales {
 public:
  /// Names of the run's variables are not used for anything else.
  Scales(hid_t file, const leat_run& run);

  /// Of make_iterations.
  Dataset& iteration() { return iteration_; }
  /// The scale for a dimension of this name and length; one of another length is called "<name>_2",
  /// ...
  Dataset& fixed(const std::string& name, hsize_t length);
  /// A scale of its own for a dimension that grows.
  Dataset& growing(const std::string& name);
  /// `wished`, or with '_' behind it when that is taken; taken from now on.
  std::string take_name(const std::string& wished);

 private:
  Dataset make(const std::string& name, hsize_t length, bool grows);

  hid_t file_;
  std::set<std::string> taken_;
  std::map<std::pair<std::string, hsize_t>, std::unique_ptr<Dataset>> fixed_;
  std::map<std::string, int> lengths_of_;  // how many lengths a name has
  std::vector<std::unique_ptr<Dataset>> growing_;
  Dataset iteration_;
};

}  // namespace leat::hdf5
