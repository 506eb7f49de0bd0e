// SPDX-License-Identifier: Apache-2.0
// Which of HDF5's filters are there, which variables they can do, and which a dataset goes through.
#pragma once

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/filters/compression.hpp"

namespace leat::hdf5 {

/// Throws when the filter of compression="..." of the store or of a variable is not there (names
/// those that are, and the folders in which HDF5 looked), or when a variable asks for one that
/// cannot do its type or dimensions.
void check_filters(const leat_run& run);

/// "" when HDF5 has the filter here; else what to do about it. `whose`: of the store "out".
std::string why_not_there(const Compression& compression, const std::string& whose);

/// "" when the filter can do variables of this type (enum leat_scalar) and so many dimensions.
std::string why_not_for(const Compression& compression, std::uint32_t type, std::uint32_t dims);

/// "" when HDF5 can expand what the filter of this number has compressed; else what to do, behind
/// the name of a dataset. `name`: that it is stored under.
std::string why_cannot_expand(H5Z_filter_t number, const std::string& name);

/// What a variable of the store is compressed with: its own, else the store's where that can be
/// used for it.
Compression compression_of(const leat_run& run, const leat_variable& variable);

/// A filter that the chunks of a dataset go through, whoever has written it.
struct StoredFilter {
  H5Z_filter_t number = H5Z_FILTER_ERROR;  ///< HDF5's registered one
  unsigned flags = 0;
  std::vector<unsigned> values{};  ///< its own settings
  std::string name{};              ///< that it is stored under, "" for none
};

/// Those of a list for the creation of a dataset, in the order in which data are written.
std::vector<StoredFilter> filters_of(hid_t creation);

}  // namespace leat::hdf5
