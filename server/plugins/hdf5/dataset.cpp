// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/dataset.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace leat::hdf5 {
namespace {

constexpr std::uint64_t kSmallChunk = 64 * 1024;
constexpr std::uint64_t kAppendedChunk = 256 * 1024;
constexpr std::uint64_t kLargeChunk = 2 * 1024 * 1024;
// Compressed chunks are complete only when all blocks that touch them are written; till then they
// wait here. All else goes to the file at once.
constexpr std::uint64_t kCacheOfCompressed = 64 << 20;

std::uint64_t product(const Shape& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1}, std::multiplies<>());
}

Id space_of(const DatasetPlan& plan) {
  if (plan.extents.empty()) return Id(H5Screate(H5S_SCALAR), "making a scalar space");
  Shape most = plan.extents;
  for (std::size_t d = 0; d < most.size(); ++d) {
    if (plan.grows[d]) most[d] = H5S_UNLIMITED;
  }
  return Id(H5Screate_simple(static_cast<int>(most.size()), plan.extents.data(), most.data()),
            "making a space");
}

Id creation_of(hid_t type, const DatasetPlan& plan, const std::string& name) {
  Id list(H5Pcreate(H5P_DATASET_CREATE), "making a property list");
  if (!plan.extents.empty()) {
    check(H5Pset_chunk(list, static_cast<int>(plan.chunk.size()), plan.chunk.data()),
          "chunks of " + name);
    if (plan.deflate > 0) {
      check(H5Pset_shuffle(list), "compression of " + name);
      check(H5Pset_deflate(list, static_cast<unsigned>(plan.deflate)), "compression of " + name);
    }
  }
  if (!plan.fill.empty())
    check(H5Pset_fill_value(list, type, plan.fill.data()), "fill value of " + name);
  return list;
}

Id access_of(bool compressed) {
  Id list(H5Pcreate(H5P_DATASET_ACCESS), "making a property list");
  // A prime above a hundred times the number of chunks in the cache is what HDF5 recommends; slots
  // cost 8 bytes each.
  constexpr std::size_t kSlots = 12'421;
  constexpr double kEvictWholeChunksFirst = 1.0;
  const std::uint64_t bytes = compressed ? kCacheOfCompressed : 0;
  check(H5Pset_chunk_cache(list, kSlots, bytes, kEvictWholeChunksFirst), "chunk cache");
  return list;
}

// The file has more dimensions than memory (the iteration): those in front are 1 long.
Id space_in_memory(const Shape& count, const MemoryPart& memory, const std::string& what) {
  if (memory.extents.empty()) return Id(H5Screate(H5S_SCALAR), what);
  const auto dims = static_cast<std::ptrdiff_t>(memory.extents.size());
  const Shape part(count.end() - dims, count.end());
  Id space(H5Screate_simple(static_cast<int>(dims), memory.extents.data(), nullptr), what);
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, memory.start.data(), nullptr, part.data(),
                            nullptr),
        what);
  return space;
}

Id creation_list(hid_t dataset, const std::string& what) {
  return Id(H5Dget_create_plist(dataset), what);
}

bool is_compressed(hid_t creation_list) { return H5Pget_nfilters(creation_list) > 0; }

// The next one in the same rows; false after the last.
bool next_chunk(const Shape& extents, const Shape& chunk, Shape* at) {
  for (std::size_t d = extents.size(); --d > 0;) {
    (*at)[d] += chunk[d];
    if ((*at)[d] < extents[d]) return true;
    (*at)[d] = 0;
  }
  return false;
}

// For H5DSiterate_scales: ends at the first.
herr_t keep_path(hid_t, unsigned, hid_t scale, void* path) {
  char name[4096];
  if (H5Iget_name(scale, name, sizeof name) <= 0) return -1;
  *static_cast<std::string*>(path) = name;
  return 1;
}

Id link_creation() {
  Id list(H5Pcreate(H5P_LINK_CREATE), "making a property list");
  check(H5Pset_create_intermediate_group(list, 1), "groups");
  check(H5Pset_char_encoding(list, H5T_CSET_UTF8), "names");
  return list;
}

}  // namespace

Dataset::Dataset(hid_t file, const std::string& name, hid_t type, const DatasetPlan& plan)
    : name_(name), is_new_(!is_in(file, name)) {
  if (is_new_) {
    create(file, type, plan);
  } else {
    open(file);
  }
}

void Dataset::create(hid_t file, hid_t type, const DatasetPlan& plan) {
  type_ = Id(H5Tcopy(type), "copying a type");
  extents_ = plan.extents;
  grows_ = plan.grows;
  const Id space = space_of(plan), creation = creation_of(type, plan, name_);
  id_ = Id(H5Dcreate2(file, name_.c_str(), type, space, link_creation(), creation,
                      access_of(plan.deflate > 0)),
           "cannot create the dataset " + name_);
}

void Dataset::open(hid_t file) {
  const std::string what = "cannot go on with the dataset " + name_;
  id_ = Id(H5Dopen2(file, name_.c_str(), H5P_DEFAULT), what);
  const bool compressed = is_compressed(creation_list(id_, what));
  id_ = Id();  // how it is cached is said when it is opened
  id_ = Id(H5Dopen2(file, name_.c_str(), access_of(compressed)), what);
  type_ = Id(H5Dget_type(id_), what);
  const Id space(H5Dget_space(id_), what);
  extents_.resize(static_cast<std::size_t>(check(H5Sget_simple_extent_ndims(space), what)));
  Shape most(extents_.size());
  check(H5Sget_simple_extent_dims(space, extents_.data(), most.data()), what);
  for (const hsize_t extent : most) grows_.push_back(extent == H5S_UNLIMITED);
}

// Behind the rows that were committed, a writer that was killed may have left rows, and data in
// those chunks that have room for rows to come: they would be seen where nobody writes later.
void Dataset::keep_rows(hsize_t rows) {
  const std::string what = "cannot go on with the dataset " + name_;
  if (extents_[0] > rows) {
    extents_[0] = rows;
    check(H5Dset_extent(id_, extents_.data()), what);
  }
  const Id creation = creation_list(id_, what);
  Shape chunk(extents_.size());
  check(H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), what);
  // A compressed chunk has one row.
  if (rows % chunk[0] == 0 || is_compressed(creation) || product(extents_) == 0) return;
  Shape at = zeros(chunk);
  at[0] = rows / chunk[0] * chunk[0];
  do {
    clear_chunk(chunk, at, rows);
  } while (next_chunk(extents_, chunk, &at));
}

// From row `rows` on.
void Dataset::clear_chunk(const Shape& chunk, const Shape& at, hsize_t rows) {
  const std::string what = "cannot clear the last rows of " + name_;
  const std::size_t bytes = H5Tget_size(type_), row = product(chunk) / chunk[0];
  hsize_t stored = 0;
  if (H5Dget_chunk_storage_size(id_, at.data(), &stored) < 0 || stored == 0) {
    innermost_error();
    return;  // nothing was written there
  }
  std::vector<std::uint8_t> data(product(chunk) * bytes), fill(bytes);
  std::uint32_t filters = 0;
  check(H5Dread_chunk(id_, H5P_DEFAULT, at.data(), &filters, data.data()), what);
  check(H5Pget_fill_value(creation_list(id_, what), type_, fill.data()), what);
  for (std::size_t i = (rows - at[0]) * row * bytes; i < data.size(); i += bytes)
    std::copy(fill.begin(), fill.end(), data.begin() + static_cast<std::ptrdiff_t>(i));
  check(H5Dwrite_chunk(id_, H5P_DEFAULT, 0, at.data(), data.size(), data.data()), what);
}

void Dataset::grow_to(const Shape& extents) {
  Shape grown = extents_;
  for (std::size_t d = 0; d < grown.size(); ++d) {
    if (grows_[d]) grown[d] = std::max(grown[d], extents[d]);
  }
  if (grown == extents_) return;
  check(H5Dset_extent(id_, grown.data()), "cannot make " + name_ + " longer");
  extents_ = grown;
  for (const auto& [d, scale] : scales_) scale->grow_to({extents_[d]});
}

void Dataset::attach_scale(std::size_t d, Dataset& scale) {
  if (scale_of(d).empty()) {
    check(H5DSattach_scale(id_, scale.id(), static_cast<unsigned>(d)),
          "cannot name a dimension of " + name_);
  }
  scales_.emplace_back(d, &scale);
}

void Dataset::attach_iterations(const Dataset& scale) {
  if (!is_new_) keep_rows(scale.extents()[0]);
  if (!scale_of(0).empty()) return;
  check(H5DSattach_scale(id_, scale.id(), 0), "cannot name the iterations of " + name_);
}

std::string Dataset::scale_of(std::size_t d) const {
  std::string path;
  if (is_new_) return path;
  check(H5DSiterate_scales(id_, static_cast<unsigned>(d), nullptr, keep_path, &path),
        "cannot read the names of the dimensions of " + name_);
  return path;
}

void Dataset::label(const std::vector<std::string>& names) {
  for (std::size_t d = 0; d < names.size(); ++d) {
    check(H5DSset_label(id_, static_cast<unsigned>(d), names[d].c_str()),
          "cannot label a dimension of " + name_);
  }
}

void Dataset::write(const Shape& start, const Shape& count, const void* data) {
  write(start, count, data, MemoryPart{count, Shape(count.size(), 0)});
}

void Dataset::write(const Shape& start, const Shape& count, const void* data,
                    const MemoryPart& memory) {
  if (product(count) == 0) return;
  const std::string what = "cannot write " + name_;
  if (count.empty()) {
    check(H5Dwrite(id_, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), what);
    return;
  }
  const Id file_space(H5Dget_space(id_), what);
  check(
      H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
      what);
  const Id memory_space = space_in_memory(count, memory, what);
  check(H5Dwrite(id_, type_, memory_space, file_space, H5P_DEFAULT, data), what);
}

void Dataset::read(const Shape& start, const Shape& count, void* data) const {
  const std::string what = "cannot read " + name_;
  if (product(count) == 0) return;
  const Id file_space(H5Dget_space(id_), what);
  check(
      H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
      what);
  const Id memory_space = space_in_memory(count, {count, zeros(count)}, what);
  check(H5Dread(id_, type_, memory_space, file_space, H5P_DEFAULT, data), what);
}

bool is_in(hid_t file, const std::string& name) {
  for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
    const std::string part = name.substr(0, end);
    if (check(H5Lexists(file, part.c_str(), H5P_DEFAULT), "cannot look for " + part) == 0)
      return false;
    if (end == std::string::npos || end + 1 == name.size()) return true;
  }
}

bool is_dataset(hid_t file, const std::string& name) {
  if (!is_in(file, name)) return false;
  const Id object(H5Oopen(file, name.c_str(), H5P_DEFAULT), "cannot open " + name);
  return H5Iget_type(object) == H5I_DATASET;
}

Shape extents_in(hid_t file, const std::string& name) {
  const std::string what = "cannot open the dataset " + name;
  const Id dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), what);
  const Id space(H5Dget_space(dataset), what);
  Shape extents(static_cast<std::size_t>(check(H5Sget_simple_extent_ndims(space), what)));
  check(H5Sget_simple_extent_dims(space, extents.data(), nullptr), what);
  return extents;
}

std::string text_attribute(hid_t object, const char* name) {
  const std::string what = std::string("cannot read the attribute ") + name;
  const Id attribute(H5Aopen(object, name, H5P_DEFAULT), what), type(H5Aget_type(attribute), what);
  std::string text;
  if (H5Tis_variable_str(type) > 0) {
    char* stored = nullptr;
    check(H5Aread(attribute, type, &stored), what);
    text = stored ? stored : "";
    H5free_memory(stored);
  } else {
    if (H5Tget_class(type) != H5T_STRING) throw std::runtime_error(what + ": it is no text");
    text.resize(H5Tget_size(type));
    check(H5Aread(attribute, type, text.data()), what);
    text.resize(std::strlen(text.c_str()));
  }
  return text;
}

void set_attribute(hid_t object, const char* name, const std::string& value) {
  const std::string what = std::string("cannot write the attribute ") + name;
  const Id type(H5Tcopy(H5T_C_S1), what), space(H5Screate(H5S_SCALAR), what);
  check(H5Tset_size(type, H5T_VARIABLE), what);  // what h5py and netCDF tools read as text
  check(H5Tset_cset(type, H5T_CSET_UTF8), what);
  const Id attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), what);
  const char* text = value.c_str();
  check(H5Awrite(attribute, type, &text), what);
}

void set_attribute(hid_t object, const char* name, std::int64_t value) {
  const std::string what = std::string("cannot write the attribute ") + name;
  const Id space(H5Screate(H5S_SCALAR), what);
  const Id attribute(H5Acreate2(object, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT),
                     what);
  check(H5Awrite(attribute, H5T_NATIVE_INT64, &value), what);
}

void set_attribute(hid_t object, const char* name, const std::vector<std::int64_t>& values) {
  const std::string what = std::string("cannot write the attribute ") + name;
  const hsize_t count = values.size();
  const Id space(H5Screate_simple(1, &count, nullptr), what);
  const Id attribute(H5Acreate2(object, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT),
                     what);
  check(H5Awrite(attribute, H5T_NATIVE_INT64, values.data()), what);
}

void set_fill_attribute(hid_t dataset, hid_t type, const std::vector<std::uint8_t>& fill) {
  const std::string what = "cannot write the attribute _FillValue";
  const hsize_t one = 1;
  const Id space(H5Screate_simple(1, &one, nullptr), what);
  const Id attribute(H5Acreate2(dataset, "_FillValue", type, space, H5P_DEFAULT, H5P_DEFAULT),
                     what);
  check(H5Awrite(attribute, type, fill.data()), what);
}

Shape chunk_of_iterations(const Shape& extents, std::uint64_t bytes) {
  Shape chunk{1};
  for (const hsize_t extent : extents) chunk.push_back(std::max<hsize_t>(1, extent));
  while (product(chunk) * bytes > kLargeChunk) {
    const auto slowest = std::find_if(chunk.begin(), chunk.end(), [](hsize_t e) { return e > 1; });
    if (slowest == chunk.end()) break;
    *slowest = (*slowest + 1) / 2;
  }
  const std::uint64_t once = product(chunk) * bytes;
  if (once < kSmallChunk) chunk[0] = (kSmallChunk + once - 1) / once;
  return chunk;
}

Shape chunk_of_rows(const Shape& extents, std::uint64_t bytes) {
  Shape chunk = chunk_of_iterations(extents, bytes);
  while (product(chunk) * bytes < kAppendedChunk) chunk[0] *= 2;
  return chunk;
}

}  // namespace leat::hdf5
