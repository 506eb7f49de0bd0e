// SPDX-License-Identifier: Apache-2.0
// What one script or plugin has published, in a group of its own: /scripts/<script>/<name> or
// /products/<store>/<name> (iteration, dims...), and "iteration" there with the iterations of the
// rows, extended last. A row for each iteration of which something was made; what was not made of
// it is fill value. Opens with xarray.open_dataset(file, group="scripts/<script>").
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

class ProductGroup {
 public:
  /// Path of the group of what made this.
  static std::string path_of(const leat_result_set& set);

  /// Goes on with what the file has in this group.
  ProductGroup(hid_t file, const std::string& path);

  /// Writes them into the row of their iteration, which is a new one where there is none. Results
  /// that could not be written are told in what is thrown; the others are there.
  void add(const leat_result_set& set);
  /// As DimensionScales::list_named().
  void list_named();
  /// Makes a new row visible; to be called when its data are committed.
  void finish_row(std::int64_t iteration);

 private:
  void resume(const std::string& name);
  void take_scales_of(Dataset& result);
  Dataset& dataset_for(const leat_result& result);
  Dataset make(const leat_result& result);
  Dataset& scale_for(const leat_result& result, unsigned d);
  void write(const leat_result& result, hsize_t row);

  hid_t file_;
  std::string group_;
  hsize_t rows_ = 0;
  Dataset iteration_;
  std::map<std::int64_t, hsize_t> row_of_;
  std::map<std::string, Dataset> results_;
  std::map<std::string, Dataset> scales_;
};

}  // namespace leat::hdf5
