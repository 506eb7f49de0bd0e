// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/merged_dataset.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "server/plugins/hdf5/dataset.hpp"
#include "server/plugins/hdf5/view/copies.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPiece = 16 << 20;  // bytes in memory at once

bool is_virtual(hid_t creation) { return H5Pget_layout(creation) == H5D_VIRTUAL; }

std::string source_file(hid_t creation, std::size_t mapping) {
  char name[4096] = "";
  check(H5Pget_virtual_filename(creation, mapping, name, sizeof name),
        "cannot read what is mapped");
  return name;
}

std::size_t mappings_of(hid_t creation) {
  std::size_t count = 0;
  check(H5Pget_virtual_count(creation, &count), "cannot read what is mapped");
  return count;
}

// As the part has it: what HDF5 can write here.
void copy_filters(hid_t from, hid_t to) {
  for (int i = 0; i < H5Pget_nfilters(from); ++i) {
    unsigned flags = 0, config = 0, values[64];
    std::size_t count = 64;
    const H5Z_filter_t filter =
        H5Pget_filter2(from, static_cast<unsigned>(i), &flags, &count, values, 0, nullptr, &config);
    const bool can_write = H5Zfilter_avail(filter) > 0 &&
                           H5Zget_filter_info(filter, &config) >= 0 &&
                           (config & H5Z_FILTER_CONFIG_ENCODE_ENABLED) != 0;
    if (can_write) check(H5Pset_filter(to, filter, flags, count, values), "compression");
  }
}

void compress_like_part(hid_t creation, hid_t to, const fs::path& folder) {
  if (mappings_of(creation) == 0) return;
  char name[4096] = "";
  check(H5Pget_virtual_dsetname(creation, 0, name, sizeof name), "cannot read what is mapped");
  const std::string path = folder / source_file(creation, 0);
  const Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "cannot open " + path);
  const Id part(H5Dopen2(file, name, H5P_DEFAULT), "cannot open " + path);
  copy_filters(Id(H5Dget_create_plist(part), path), to);
}

bool has_rows(hid_t dataset) {
  for (const std::string& scale : scales_of(dataset, 0)) {
    if (scale.substr(scale.rfind('/') + 1).rfind("iteration", 0) == 0) return true;
  }
  return false;
}

Shape chunk_for(hid_t dataset, const Shape& extents, std::uint64_t bytes, bool compressed) {
  const Shape rest(extents.begin() + 1, extents.end());
  Shape chunk = has_rows(dataset) ? chunk_of_iterations(rest, bytes) : chunk_of_rows(rest, bytes);
  if (compressed && has_rows(dataset)) chunk[0] = 1;
  if (!has_rows(dataset)) chunk[0] = std::clamp<hsize_t>(extents[0], 1, chunk[0]);
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

bool next(const Shape& extents, const Shape& piece, Shape* at) {
  for (std::size_t d = extents.size(); d-- > 0;) {
    (*at)[d] += piece[d];
    if ((*at)[d] < extents[d]) return true;
    (*at)[d] = 0;
  }
  return false;
}

}  // namespace

void expect_sources(hid_t dataset, const fs::path& view_folder, std::set<std::string>* known) {
  const Id creation(H5Dget_create_plist(dataset), "reading a dataset");
  if (!is_virtual(creation)) return;
  for (std::size_t i = 0; i < mappings_of(creation); ++i) {
    const std::string name = source_file(creation, i);
    if (!known->insert(name).second) continue;
    const std::string path = view_folder / name;
    if (!fs::exists(path))
      throw std::runtime_error("the part " + path +
                               " is missing: the view and the folder of its parts belong together");
    const Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT),
                  "the part " + path + " cannot be read");
  }
}

Id create_merged(hid_t source, hid_t file, const std::string& path, const fs::path& view_folder) {
  const std::string what = "cannot write " + path;
  const Id type(H5Dget_type(source), what), space(H5Dget_space(source), what);
  const Id from(H5Dget_create_plist(source), what), creation(H5Pcreate(H5P_DATASET_CREATE), what);
  const Shape extents = extents_of(source);
  copy_fill_value(from, creation, type);
  if (is_virtual(from)) {
    compress_like_part(from, creation, view_folder);
    const Shape chunk =
        chunk_for(source, extents, H5Tget_size(type), H5Pget_nfilters(creation) > 0);
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
    const Id memory(count.empty()
                        ? H5Screate(H5S_SCALAR)
                        : H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                    what);
    const Id from(H5Dget_space(source), what), to(H5Dget_space(target), what);
    if (!count.empty()) {
      for (const hid_t space : {static_cast<hid_t>(from), static_cast<hid_t>(to)})
        check(H5Sselect_hyperslab(space, H5S_SELECT_SET, at.data(), nullptr, count.data(), nullptr),
              what);
    }
    check(H5Dread(source, type, memory, from, H5P_DEFAULT, values.data()), what);
    check(H5Dwrite(target, type, memory, to, H5P_DEFAULT, values.data()), what);
    copied(product(count) * bytes);
  } while (next(extents, piece, &at));
}

std::uint64_t bytes_of_values(hid_t dataset) {
  const Id type(H5Dget_type(dataset), "reading a dataset");
  return product(extents_of(dataset)) * H5Tget_size(type);
}

}  // namespace leat::hdf5
