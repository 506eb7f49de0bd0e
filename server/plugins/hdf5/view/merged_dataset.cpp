// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/merged_dataset.hpp"

#include <algorithm>
#include <vector>

#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"
#include "server/plugins/hdf5/view/copy_objects.hpp"

namespace leat::hdf5 {
namespace {

constexpr std::uint64_t kMergedBundle = 64ull * 1024;  // of rows that are small
constexpr std::uint64_t kPiece = 16 << 20;             // bytes in memory at once

bool is_virtual(hid_t creation) { return H5Pget_layout(creation) == H5D_VIRTUAL; }

// As the part has it: what HDF5 can write here. zfp must not take digits away a second time, and
// the settings that it keeps with a dataset are not those that it takes for a new one.
void copy_filters(hid_t from, hid_t to) {
  for (const StoredFilter& filter : filters_of(from)) {
    unsigned config = 0;
    const bool can_write = H5Zfilter_avail(filter.number) > 0 &&
                           H5Zget_filter_info(filter.number, &config) >= 0 &&
                           (config & H5Z_FILTER_CONFIG_ENCODE_ENABLED) != 0;
    if (can_write && filter.number == kZfp) {
      guard_zfp();
      compress_with(compression_from("zfp:reversible"), to, "a merged dataset");
    } else if (can_write) {
      check(H5Pset_filter(to, filter.number, filter.flags, filter.values.size(),
                          filter.values.data()),
            "compression");
    }
  }
}

// What scripts made is called after its own iterations.
bool has_rows_scale(hid_t dataset, const std::string& rows) {
  for (const std::string& scale : scales_of(dataset, 0)) {
    if (scale == rows || scale.substr(scale.rfind('/') + 1) == "iteration") return true;
  }
  return false;
}

Shape chunk_for(const Shape& extents, std::uint64_t bytes, bool with_rows, bool compressed) {
  const Shape rest = behind(extents);
  Shape chunk = chunk_of_iterations(rest, bytes, kMergedBundle);
  if (!with_rows) chunk[0] = records_in_chunk(product(rest) * bytes, extents[0], true);
  const hsize_t rows = std::max<hsize_t>(1, extents[0]);
  const hsize_t chunks = (rows + chunk[0] - 1) / chunk[0];
  chunk[0] = compressed && with_rows ? 1 : (rows + chunks - 1) / chunks;
  return chunk;
}

// Elements of a piece in each dimension: a multiple of those of a chunk, when there are some.
Shape piece_for(const Shape& extents, Shape chunk, std::uint64_t bytes) {
  chunk.resize(extents.size(), 1);
  Shape piece = extents;
  for (std::size_t d = 0; d < piece.size() && product(piece) * bytes > kPiece; ++d) {
    const std::uint64_t others = product(piece) / std::max<hsize_t>(1, piece[d]) * bytes;
    const hsize_t fit = std::max<hsize_t>(1, kPiece / std::max<std::uint64_t>(1, others));
    piece[d] = std::min(piece[d], std::max<hsize_t>(chunk[d], fit / chunk[d] * chunk[d]));
  }
  return piece;
}

}  // namespace

Id create_merged(hid_t source, hid_t file, const std::string& path, const std::string& rows,
                 Sources* sources) {
  const std::string what = "cannot write " + path;
  const Id type(H5Dget_type(source), what), space(H5Dget_space(source), what);
  const Id from(H5Dget_create_plist(source), what), creation(H5Pcreate(H5P_DATASET_CREATE), what);
  const Shape extents = extents_of(source);
  copy_fill_value(from, creation, type);
  if (is_virtual(from)) {
    const Id part = sources->first_of(source);
    if (part.is_open()) copy_filters(Id(H5Dget_create_plist(part), what), creation);
    const Shape chunk = chunk_for(extents, H5Tget_size(type), has_rows_scale(source, rows),
                                  H5Pget_nfilters(creation) > 0);
    check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), what);
  } else if (const Shape chunk = chunk_of(from); !chunk.empty()) {
    check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), what);
    copy_filters(from, creation);
  }
  return Id(H5Dcreate2(file, path.c_str(), type, space, link_creation(), creation, H5P_DEFAULT),
            what);
}

void copy_values(hid_t source, hid_t target, const std::function<void(std::uint64_t)>& copied) {
  const std::string what = "cannot copy values";
  const Id type(H5Dget_type(source), what);
  const Shape extents = extents_of(source);
  const std::uint64_t bytes = H5Tget_size(type);
  // Nobody has written into a dimension that only has a name. Of what is virtual HDF5 does not
  // know.
  const bool has_none = H5Dget_storage_size(source) == 0 && is_scale(source) &&
                        !is_virtual(Id(H5Dget_create_plist(source), what));
  if (product(extents) == 0 || has_none) return;
  const Shape chunk = chunk_of(Id(H5Dget_create_plist(target), what));
  const Shape piece = piece_for(extents, chunk, bytes);
  std::vector<unsigned char> values(product(piece) * bytes);
  Shape at = zeros(extents);
  do {
    Shape count = piece;
    for (std::size_t d = 0; d < count.size(); ++d)
      count[d] = std::min(count[d], extents[d] - at[d]);
    read_part(source, type, at, count, values.data(), what);
    check(H5Dwrite(target, type, space_of(count), part_of(target, at, count, what), H5P_DEFAULT,
                   values.data()),
          what);
    copied(product(count) * bytes);
  } while (next_piece(extents, piece, &at));
}

std::uint64_t bytes_of_values(hid_t dataset) {
  const Id type(H5Dget_type(dataset), "reading a dataset");
  return product(extents_of(dataset)) * H5Tget_size(type);
}

}  // namespace leat::hdf5
