// SPDX-License-Identifier: Apache-2.0
// What a view is a view of, held open while it is read. HDF5 opens it by itself, and shows fill
// values where it cannot: for want of a file, of locks, of descriptors or of a dataset. What is
// open already it finds.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

class Sources {
 public:
  explicit Sources(std::filesystem::path view_folder) : view_folder_(std::move(view_folder)) {}
  /// Opens all that `dataset` maps. Throws when a part is missing or cannot be read, and when HDF5
  /// has not the filter that a dataset in it is compressed with.
  void open(hid_t dataset);
  /// The first dataset that is mapped; nothing when none is.
  Id first_of(hid_t dataset);

 private:
  hid_t file(const std::string& name);

  std::filesystem::path view_folder_;
  std::map<std::string, Id> files_;
  std::set<std::pair<std::string, std::string>> known_;  // file, dataset
};

}  // namespace leat::hdf5
