// SPDX-License-Identifier: Apache-2.0
// What compression="..." asks for, as HDF5 wants to hear it. The texts are those of the type
// "compression" in leat.xsd, which documents them.
#pragma once

#include <string>
#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

constexpr H5Z_filter_t kZfp = 32013;

struct Compression {
  std::string text;              ///< as asked for
  H5Z_filter_t filter = 0;       ///< HDF5's registered number of it; 0: none
  bool shuffle = false;          ///< bytes of equal weight are put together first
  std::vector<unsigned> values;  ///< the filter's own settings

  explicit operator bool() const { return filter != 0; }
  bool is_zfp() const { return filter == kZfp; }
};

/// Of "none", "" (the same), "deflate:4", "zfp:rate=8", ...; throws for what is none of them.
Compression compression_from(const std::string& text);

/// Puts it into a list for creating a dataset of chunks.
void compress_with(const Compression& compression, hid_t creation, const std::string& dataset);

/// The filters that compression="..." knows, by name.
struct KnownFilter {
  const char* name;
  H5Z_filter_t number;
  const char* grammar;  ///< what to write
};
const std::vector<KnownFilter>& known_filters();

}  // namespace leat::hdf5
