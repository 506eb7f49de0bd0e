// SPDX-License-Identifier: Apache-2.0
// The group of the store's own tables, "leat": tools that read the root only, and people who look
// for variables, need not see them.
#pragma once

#include <set>
#include <string>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {

/// "leat/", with '_' behind the name where a dataset has it, or one of `taken` is to get it.
inline std::string own_group(hid_t file, const std::set<std::string>& taken = {}) {
  std::string name = "leat";
  while (taken.count(name) > 0 || is_dataset(file, name)) name += "_";
  return name + "/";
}

}  // namespace leat::hdf5
