// SPDX-License-Identifier: Apache-2.0
// What one script or plugin has published, in a group of its own: /scripts/<script>/<name> or
// /products/<store>/<name> (iteration, dims...), and "iteration" there with the iterations of the
// rows, extended last. A row for each call that made something; what a call did not make is fill
// value. Opens with xarray.open_dataset(file, group="scripts/<script>").
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

  /// Whether a writer before this one has stored what was made of this iteration.
  bool has(std::int64_t iteration) const;
  /// Adds a row. Results that could not be written are told in what is thrown; the others are
  /// there.
  void add(const leat_result_set& set);
  /// Makes the row visible; to be called when its data are committed.
  void finish_row(std::int64_t iteration);

 private:
  void take_up(const std::string& name);
  void take_scales_of(Dataset& result);
  Dataset& dataset_for(const leat_result& result);
  Dataset make(const leat_result& result);
  Dataset& scale_for(const leat_result& result, unsigned d);
  void write(const leat_result& result);

  hid_t file_;
  std::string group_;
  hsize_t rows_ = 0;
  Dataset iteration_;
  std::vector<std::int64_t> stored_before_;  // ascending
  std::map<std::string, Dataset> results_;
  std::map<std::string, Dataset> scales_;
};

}  // namespace leat::hdf5
