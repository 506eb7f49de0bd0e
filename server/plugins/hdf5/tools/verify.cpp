// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/tools/verify.hpp"

#include <hdf5.h>

#include <algorithm>
#include <exception>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/base/plain_file.hpp"
#include "server/plugins/hdf5/filters/stored_filters.hpp"

namespace leat::hdf5 {
namespace {

constexpr hsize_t kAtATime = hsize_t{32} << 20;  // bytes

// True when each chunk goes through a filter that notices changed bytes: a sum, or a decoder. None
// that this program does not have: what it cannot read, it cannot check.
bool has_checksum(hid_t properties) {
  bool notices = false;
  for (const StoredFilter& filter : filters_of(properties)) {
    if (H5Zfilter_avail(filter.number) <= 0) return false;
    notices = notices || filter.number != H5Z_FILTER_SHUFFLE;
  }
  return notices;
}

// Reads all of it, some rows at a time, so that each chunk is decoded.
void read_all(hid_t dataset, hid_t type, const std::string& name) {
  Shape count = extents_of(dataset), begin = zeros(count);
  const hsize_t row = product(behind(count)) * H5Tget_size(type);
  if (count.empty() || row == 0) return;
  const hsize_t rows = std::max<hsize_t>(1, kAtATime / row), all = count[0];
  std::vector<char> data;
  for (begin[0] = 0; begin[0] < all; begin[0] += count[0]) {
    count[0] = std::min(rows, all - begin[0]);
    data.resize(count[0] * row);
    is_alive();
    read_part(dataset, type, begin, count, data.data(),
              "data of \"" + name + "\", rows " + std::to_string(begin[0]) + " to " +
                  std::to_string(begin[0] + count[0] - 1));
  }
}

void look_at(hid_t dataset, const std::string& name) {
  const Id properties(H5Dget_create_plist(dataset), name);
  const Id type(H5Dget_type(dataset), name);
  if (H5Pget_layout(properties) == H5D_VIRTUAL) return;
  const bool is_text =
      check(H5Tdetect_class(type, H5T_VLEN), name) > 0 || check(H5Tis_variable_str(type), name) > 0;
  if (H5Pget_layout(properties) == H5D_CHUNKED) {
    hsize_t chunks = 0;  // reads the whole index of chunks
    check(H5Dget_num_chunks(dataset, Id(H5Dget_space(dataset), name), &chunks),
          "the chunks of \"" + name + "\"");
  }
  if (!is_text && has_checksum(properties)) read_all(dataset, type, name);
}

void look_at_object(hid_t file, const char* name, H5O_type_t type, void* damage) {
  try {
    is_alive();
    const Id object(H5Oopen(file, name, H5P_DEFAULT), std::string("\"") + name + "\"");
    if (type == H5O_TYPE_DATASET) look_at(object, name);
  } catch (const std::exception& e) {
    static_cast<std::vector<std::string>*>(damage)->push_back(e.what());
  }
}

}  // namespace

std::vector<std::string> damage_in(const std::string& path) {
  const Id file = open_of_leat(path);
  std::vector<std::string> damage;
#if H5_VERSION_GE(1, 12, 0)
  using Info = H5O_info2_t;
  constexpr auto kVisit = H5Ovisit3;
#else
  using Info = H5O_info_t;
  constexpr auto kVisit = H5Ovisit2;
#endif
  const auto each = [](hid_t id, const char* name, const Info* found, void* to) -> herr_t {
    look_at_object(id, name, found->type, to);
    return 0;
  };
  if (kVisit(file, H5_INDEX_NAME, H5_ITER_INC, each, &damage, H5O_INFO_BASIC) < 0)
    damage.push_back("its list of objects: " + innermost_error());
  return damage;
}

}  // namespace leat::hdf5
