// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/tools/verify.hpp"

#include <hdf5.h>

#include <algorithm>
#include <exception>

#include "server/plugins/hdf5/base/handle.hpp"
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
  const Id space(H5Dget_space(dataset), name);
  const int dims = check(H5Sget_simple_extent_ndims(space), name);
  std::vector<hsize_t> extent(static_cast<std::size_t>(dims)), begin(extent.size());
  check(H5Sget_simple_extent_dims(space, extent.data(), nullptr), name);
  hsize_t row = H5Tget_size(type);
  for (std::size_t d = 1; d < extent.size(); ++d) row *= extent[d];
  if (dims == 0 || row == 0) return;
  std::vector<hsize_t> count = extent;
  const hsize_t rows = std::max<hsize_t>(1, kAtATime / row), all = extent[0];
  std::vector<char> data;
  for (begin[0] = 0; begin[0] < all; begin[0] += count[0]) {
    count[0] = std::min(rows, all - begin[0]);
    data.resize(count[0] * row);
    const Id memory(H5Screate_simple(dims, count.data(), nullptr), name);
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr),
          name);
    is_alive();
    check(H5Dread(dataset, type, memory, space, H5P_DEFAULT, data.data()),
          "data of \"" + name + "\", rows " + std::to_string(begin[0]) + " to " +
              std::to_string(begin[0] + count[0] - 1));
  }
}

void look_at(hid_t dataset, const std::string& name, Verified* verified) {
  const Id properties(H5Dget_create_plist(dataset), name);
  const Id type(H5Dget_type(dataset), name);
  const Id space(H5Dget_space(dataset), name);
  if (H5Pget_layout(properties) == H5D_VIRTUAL) return;
  const bool is_text =
      check(H5Tdetect_class(type, H5T_VLEN), name) > 0 || check(H5Tis_variable_str(type), name) > 0;
  const hssize_t values = H5Sget_simple_extent_npoints(space);
  const auto bytes = static_cast<std::uint64_t>(values < 0 ? 0 : values) * H5Tget_size(type);
  if (H5Pget_layout(properties) == H5D_CHUNKED) {
    hsize_t chunks = 0;  // reads the whole index of chunks
    check(H5Dget_num_chunks(dataset, space, &chunks), "the chunks of \"" + name + "\"");
  }
  if (is_text || !has_checksum(properties)) {
    verified->without += bytes;
    return;
  }
  read_all(dataset, type, name);
  verified->with_checksum += bytes;
}

herr_t visit(hid_t file, const char* name, const H5O_info_t* info, void* to) {
  auto* const verified = static_cast<Verified*>(to);
  try {
    is_alive();
    const Id object(H5Oopen(file, name, H5P_DEFAULT), std::string("\"") + name + "\"");
    if (info->type == H5O_TYPE_DATASET) look_at(object, name, verified);
  } catch (const std::exception& e) {
    verified->damage.push_back(e.what());
  }
  return 0;
}

}  // namespace

Verified verify(const std::string& path) {
  const Id file =
      open_plain(path, path + " cannot be opened: is it an HDF5 file that Leat has written?");
  Verified verified;
#if H5_VERSION_GE(1, 12, 0)
  const auto each = [](hid_t id, const char* name, const H5O_info2_t* found, void* to) -> herr_t {
    H5O_info_t info{};
    info.type = found->type;
    return visit(id, name, &info, to);
  };
  const herr_t code = H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, each, &verified, H5O_INFO_BASIC);
#else
  const herr_t code = H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, visit, &verified, H5O_INFO_BASIC);
#endif
  if (code < 0) verified.damage.push_back("its list of objects: " + innermost_error());
  return verified;
}

}  // namespace leat::hdf5
