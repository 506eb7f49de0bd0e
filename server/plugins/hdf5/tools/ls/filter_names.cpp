// SPDX-License-Identifier: Apache-2.0
// Numbers of filters: HDF5 Registered Filter Plugins (The HDF Group).
#include "server/plugins/hdf5/tools/ls/filter_names.hpp"

#include <algorithm>
#include <iterator>

namespace leat::hdf5 {
namespace {

struct Known {
  H5Z_filter_t number;
  const char* name;
  bool has_level;  // its first value
};

constexpr Known kKnown[] = {
    {H5Z_FILTER_DEFLATE, "deflate", true},
    {H5Z_FILTER_SHUFFLE, "shuffle", false},
    {H5Z_FILTER_FLETCHER32, "fletcher32", false},
    {H5Z_FILTER_SZIP, "szip", false},
    {H5Z_FILTER_NBIT, "nbit", false},
    {H5Z_FILTER_SCALEOFFSET, "scaleoffset", false},
    {307, "bzip2", true},
    {32000, "lzf", false},
    {32001, "blosc", false},
    {32004, "lz4", false},
    {32008, "bitshuffle", false},
    {32013, "zfp", false},
    {32015, "zstd", true},
    {32017, "sz", false},
    {32024, "sz3", false},
    {32026, "blosc2", false},
};

// Source: blosc_filter.c of hdf5-blosc, "cd_values".
std::string blosc_name(const unsigned* values, std::size_t count) {
  constexpr const char* kCompressors[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
  if (count < 7 || values[6] >= std::size(kCompressors)) return "blosc";
  return std::string("blosc:") + kCompressors[values[6]] + ":" + std::to_string(values[4]);
}

std::string filter_name(hid_t creation, unsigned number) {
  unsigned flags = 0, values[16] = {}, config = 0;
  std::size_t count = std::size(values);
  char own[128] = "";
  const H5Z_filter_t id =
      H5Pget_filter2(creation, number, &flags, &count, values, sizeof own, own, &config);
  const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [id](const Known& each) { return each.number == id; });
  if (known == std::end(kKnown)) return *own ? own : "filter " + std::to_string(id);
  if (id == 32001) return blosc_name(values, count);
  const std::string level = count > 0 ? ":" + std::to_string(static_cast<int>(values[0])) : "";
  return known->name + (known->has_level ? level : "");
}

}  // namespace

Json filter_names(hid_t creation) {
  Json names = Json::array();
  for (int i = 0; i < H5Pget_nfilters(creation); ++i)
    names.push_back(filter_name(creation, static_cast<unsigned>(i)));
  return names;
}

}  // namespace leat::hdf5
