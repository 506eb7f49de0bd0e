// SPDX-License-Identifier: Apache-2.0
// Numbers of filters: HDF5 Registered Filter Plugins (The HDF Group).
#include "server/plugins/hdf5/tools/ls/filter_names.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "server/plugins/hdf5/filters/filters.hpp"

namespace leat::hdf5 {
namespace {

struct Known {
  H5Z_filter_t number;
  const char* name;
  bool has_level;  // its first value
};

constexpr H5Z_filter_t kBlosc = 32001;
constexpr Known kKnown[] = {
    {H5Z_FILTER_DEFLATE, "deflate", true},
    {H5Z_FILTER_SHUFFLE, "shuffle", false},
    {H5Z_FILTER_FLETCHER32, "fletcher32", false},
    {H5Z_FILTER_SZIP, "szip", false},
    {H5Z_FILTER_NBIT, "nbit", false},
    {H5Z_FILTER_SCALEOFFSET, "scaleoffset", false},
    {307, "bzip2", true},
    {32000, "lzf", false},
    {kBlosc, "blosc", false},
    {32004, "lz4", false},
    {32008, "bitshuffle", false},
    {kZfp, "zfp", false},
    {32015, "zstd", true},
    {32017, "sz", false},
    {32024, "sz3", false},
    {32026, "blosc2", false},
};

// Source: blosc_filter.c of hdf5-blosc, "cd_values".
std::string blosc_name(const std::vector<unsigned>& values) {
  constexpr const char* kCompressors[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
  if (values.size() < 7 || values[6] >= std::size(kCompressors)) return "blosc";
  return std::string("blosc:") + kCompressors[values[6]] + ":" + std::to_string(values[4]);
}

std::string filter_name(const StoredFilter& filter) {
  const auto known =
      std::find_if(std::begin(kKnown), std::end(kKnown),
                   [&filter](const Known& each) { return each.number == filter.number; });
  if (known == std::end(kKnown))
    return filter.name.empty() ? "filter " + std::to_string(filter.number) : filter.name;
  const std::vector<unsigned>& values = filter.values;
  if (filter.number == kBlosc) return blosc_name(values);
  const std::string level = values.empty() ? "" : ":" + std::to_string(static_cast<int>(values[0]));
  return known->name + (known->has_level ? level : "");
}

}  // namespace

Json filter_names(hid_t creation) {
  Json names = Json::array();
  for (const StoredFilter& filter : filters_of(creation)) names.push_back(filter_name(filter));
  return names;
}

}  // namespace leat::hdf5
