// SPDX-License-Identifier: Apache-2.0
// The filters that the chunks of a dataset go through, whoever has written it.
#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

namespace leat::hdf5 {

struct StoredFilter {
  H5Z_filter_t number = H5Z_FILTER_ERROR;  ///< HDF5's registered one
  unsigned flags = 0;
  std::vector<unsigned> values{};  ///< its own settings
  std::string name{};              ///< that it is stored under, "" for none
};

/// Those of a list for the creation of a dataset, in the order in which data are written.
std::vector<StoredFilter> filters_of(hid_t creation);

}  // namespace leat::hdf5
