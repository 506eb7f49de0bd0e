// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/dataset.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace leat::hdf5 {
namespace {

constexpr hsize_t kListChunk = 8192;  // elements
constexpr std::uint64_t kSmallChunk = 64 * 1024;
constexpr std::uint64_t kAppendedChunk = 256 * 1024;
constexpr std::uint64_t kLargeChunk = 2 * 1024 * 1024;

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

Id access_of(const DatasetPlan& plan) {
  Id list(H5Pcreate(H5P_DATASET_ACCESS), "making a property list");
  // A prime above a hundred times the number of chunks in the cache is what HDF5 recommends; slots
  // cost 8 bytes each.
  constexpr std::size_t kSlots = 12'421;
  constexpr double kEvictWholeChunksFirst = 1.0;
  check(H5Pset_chunk_cache(list, kSlots, plan.cache_bytes, kEvictWholeChunksFirst), "chunk cache");
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

Id link_creation() {
  Id list(H5Pcreate(H5P_LINK_CREATE), "making a property list");
  check(H5Pset_create_intermediate_group(list, 1), "groups");
  check(H5Pset_char_encoding(list, H5T_CSET_UTF8), "names");
  return list;
}

}  // namespace

DatasetPlan growing_list(hsize_t length) {
  DatasetPlan plan;
  plan.extents = {length};
  plan.grows = {true};
  plan.chunk = {kListChunk};
  return plan;
}

Dataset::Dataset(hid_t file, const std::string& name, hid_t type, const DatasetPlan& plan)
    : type_(H5Tcopy(type), "copying a type"),
      name_(name),
      extents_(plan.extents),
      grows_(plan.grows) {
  const Id space = space_of(plan), creation = creation_of(type, plan, name);
  id_ = Id(H5Dcreate2(file, name.c_str(), type, space, link_creation(), creation, access_of(plan)),
           "cannot create the dataset " + name);
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
  check(H5DSattach_scale(id_, scale.id(), static_cast<unsigned>(d)),
        "cannot name a dimension of " + name_);
  scales_.emplace_back(d, &scale);
}

void Dataset::attach_iterations(const Dataset& scale) {
  check(H5DSattach_scale(id_, scale.id(), 0), "cannot name the iterations of " + name_);
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
