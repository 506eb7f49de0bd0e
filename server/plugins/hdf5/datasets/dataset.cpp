// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/datasets/dataset.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace leat::hdf5 {
namespace {

// Elements of the array in memory before the first that is meant.
std::uint64_t first_element(const MemoryPart& memory) {
  std::uint64_t at = 0;
  for (std::size_t d = 0; d < memory.extents.size(); ++d)
    at = at * memory.extents[d] + memory.start[d];
  return at;
}

// Part of an array that is all of it but for its slowest dimensions.
bool is_contiguous(const Shape& whole, const Shape& part) {
  bool longer_in_front = false;  // a dimension in front of this one is longer than 1
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (longer_in_front && part[d] != whole[d]) return false;
    longer_in_front = longer_in_front || part[d] > 1;
  }
  return true;
}

const std::string kWhat = "cannot clear the last rows of a dataset";

std::vector<std::uint8_t> fill_value_of(hid_t creation, hid_t type) {
  std::vector<std::uint8_t> fill(H5Tget_size(type));
  check(H5Pget_fill_value(creation, type, fill.data()), kWhat);
  return fill;
}

// From byte `from` of the chunk on.
void clear_chunk(hid_t dataset, const Shape& at, std::vector<std::uint8_t>* data, std::size_t from,
                 const std::vector<std::uint8_t>& fill) {
  hsize_t stored = 0;
  if (H5Dget_chunk_storage_size(dataset, at.data(), &stored) < 0 || stored == 0) {
    innermost_error();
    return;  // nothing was written there
  }
  std::uint32_t filters = 0;
  check(H5Dread_chunk(dataset, H5P_DEFAULT, at.data(), &filters, data->data()), kWhat);
  for (std::size_t i = from; i < data->size(); i += fill.size())
    std::copy(fill.begin(), fill.end(), data->begin() + static_cast<std::ptrdiff_t>(i));
  check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at.data(), data->size(), data->data()), kWhat);
}

}  // namespace

bool is_whole_chunks(const Shape& chunk, const Shape& start, const Shape& count,
                     const MemoryPart& memory) {
  for (std::size_t d = 0; d < chunk.size(); ++d) {
    if (start[d] % chunk[d] != 0 || count[d] % chunk[d] != 0) return false;
  }
  return !chunk.empty() && product(count) > 0 && is_contiguous(count, chunk) &&
         is_contiguous(memory.extents, memory.count);
}

void write_whole_chunks(hid_t dataset, const Shape& chunk, const Shape& start, const Shape& count,
                        const void* data, const MemoryPart& memory, std::size_t element) {
  const auto* from = static_cast<const char*>(data) + first_element(memory) * element;
  const std::size_t bytes = product(chunk) * element;
  Shape at = start, behind_start = zeros(start);
  do {
    for (std::size_t d = 0; d < at.size(); ++d) at[d] = start[d] + behind_start[d];
    check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at.data(), bytes, from), "cannot write a chunk");
    from += bytes;
  } while (next_piece(count, chunk, &behind_start));
}

void clear_behind(hid_t dataset, hsize_t rows) {
  const Id creation(H5Dget_create_plist(dataset), kWhat), type(H5Dget_type(dataset), kWhat);
  const Shape extents = extents_of(dataset), chunk = chunk_of(creation);
  Shape at = zeros(extents);
  // A compressed chunk has one row.
  if (rows % chunk[0] == 0 || H5Pget_nfilters(creation) > 0 || product(extents) == 0) return;
  at[0] = rows / chunk[0] * chunk[0];
  const std::vector<std::uint8_t> fill = fill_value_of(creation, type);
  std::vector<std::uint8_t> data(product(chunk) * fill.size());
  const std::size_t from = (rows - at[0]) * (data.size() / chunk[0]);
  do {
    clear_chunk(dataset, at, &data, from, fill);
  } while (next_piece(extents, chunk, &at, 1));
}

namespace {

// What all datasets of a file may have too much at their ends, and what is worth a chunk of its own:
// a reader needs 2 us for one, whatever is in it.
constexpr std::uint64_t kBundles = 24ull * 1024, kLeastBundle = 512;
// A chunk more for each row costs as much as the row: few are bundled in any case.
constexpr std::uint64_t kFewRows = 4, kBytesOfFew = 2048;

// What is appended has the last chunk whole in the file: it is small beside what comes at once.
constexpr std::uint64_t kLeastAppended = 2ull * 1024;
constexpr hsize_t kShareOfAppended = 24;
constexpr std::uint64_t kLargeChunk = 2ull * 1024 * 1024;
// A reader's HDF5 keeps 1 MiB of a dataset unless told otherwise, and expands a larger chunk anew
// for each row that is read of it: of 2 MiB that takes 200 times as long. At 512 KiB two go in, a
// series at one point takes half as long as at 1 MiB, and the file is 0.3 % larger.
constexpr std::uint64_t kCompressedChunk = 512ull * 1024;
// Compressed chunks are complete only when all blocks that touch them are written; till then they
// wait here. All else goes to the file at once.
constexpr std::uint64_t kCacheOfCompressed = 64 << 20;

Id creation_for(hid_t type, const DatasetPlan& plan, const std::string& name) {
  Id list(H5Pcreate(H5P_DATASET_CREATE), "making a property list");
  if (!plan.chunk.empty()) {
    check(H5Pset_chunk(list, static_cast<int>(plan.chunk.size()), plan.chunk.data()),
          "chunks of " + name);
    compress_with(plan.compression, list, name);
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

// A length of at most `most`, of which `extent` is a multiple where there is one that is not small;
// what is left over at the end would be stored too.
hsize_t even_piece(hsize_t extent, hsize_t most) {
  for (hsize_t piece = most; piece > most / 2; --piece) {
    if (extent % piece == 0) return piece;
  }
  const hsize_t pieces = (extent + most - 1) / most;
  return (extent + pieces - 1) / pieces;
}

// Of one iteration, the iteration dimension first, at most so many bytes.
Shape part_of_iteration(const Shape& extents, std::uint64_t bytes, std::uint64_t most) {
  Shape chunk{1};
  for (const hsize_t extent : extents) chunk.push_back(std::max<hsize_t>(1, extent));
  for (std::size_t d = 1; d < chunk.size() && product(chunk) * bytes > most; ++d) {
    const std::uint64_t one = product(chunk) / chunk[d] * bytes;
    chunk[d] = even_piece(chunk[d], std::max<hsize_t>(1, most / one));
  }
  return chunk;
}

}  // namespace

std::uint64_t bundle_for(std::uint64_t datasets) {
  return std::max(kLeastBundle, kBundles / std::max<std::uint64_t>(1, datasets));
}

DatasetPlan growing_list(hsize_t length, hsize_t rows) {
  return {{length}, {true}, {rows}, {}, {}};
}

Dataset::Dataset(hid_t file, const std::string& name) : name_(name) { open(file); }

Dataset::Dataset(hid_t file, const std::string& name, hid_t type, const DatasetPlan& plan)
    : name_(name), is_new_(!is_in(file, name)) {
  if (is_new_) {
    create(file, type, plan);
  } else {
    open(file);
    expect_like(type, plan);
  }
}

void Dataset::expect_like(hid_t type, const DatasetPlan& plan) const {
  const bool both_text = H5Tget_class(type_) == H5T_STRING && H5Tget_class(type) == H5T_STRING;
  if (extents_.size() == plan.extents.size() && (both_text || H5Tequal(type_, type) > 0)) return;
  throw std::runtime_error("the dataset " + name_ +
                           " that is there has another type or number of dimensions");
}

void Dataset::create(hid_t file, hid_t type, const DatasetPlan& plan) {
  type_ = Id(H5Tcopy(type), "copying a type");
  extents_ = plan.extents;
  grows_ = plan.grows;
  if (!plan.compression) chunk_ = plan.chunk;
  Shape most = plan.extents;
  for (std::size_t d = 0; d < most.size(); ++d) {
    if (grows_[d]) most[d] = H5S_UNLIMITED;
  }
  const Id space = space_of(extents_, most), creation = creation_for(type, plan, name_);
  id_ = Id(H5Dcreate2(file, name_.c_str(), type, space, link_creation(), creation,
                      access_of(bool{plan.compression})),
           "cannot create the dataset " + name_);
}

void Dataset::open(hid_t file) {
  const std::string what = "cannot go on with the dataset " + name_;
  id_ = open_dataset(file, name_);
  const Id creation(H5Dget_create_plist(id_), what);
  const bool compressed = H5Pget_nfilters(creation) > 0;
  id_ = Id();  // how it is cached is said when it is opened
  id_ = Id(H5Dopen2(file, name_.c_str(), access_of(compressed)), what);
  type_ = Id(H5Dget_type(id_), what);
  Shape most;
  extents_ = extents_of(id_, &most);
  if (!compressed) chunk_ = chunk_of(creation);
  for (const hsize_t extent : most) grows_.push_back(extent == H5S_UNLIMITED);
}

void Dataset::truncate_rows(hsize_t rows) {
  if (extents_[0] > rows) {
    extents_[0] = rows;
    check(H5Dset_extent(id_, extents_.data()), "cannot go on with the dataset " + name_);
  }
  clear_behind(id_, rows);
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

void Dataset::grow_to_scales() {
  Shape grown = extents_;
  for (const auto& [d, scale] : scales_) grown[d] = std::max(grown[d], scale->extents()[0]);
  grow_to(grown);
}

void Dataset::attach_scale(std::size_t d, Dataset& scale) {
  if (scale_of(d) == HADDR_UNDEF) be_named(d, scale, "cannot name a dimension of " + name_);
  scales_.emplace_back(d, &scale);
  scale.grow_to({extents_[d]});
}

void Dataset::attach_iterations(Dataset& scale, hsize_t rows) {
  if (!is_new_) truncate_rows(rows);
  if (scale_of(0) == HADDR_UNDEF) be_named(0, scale, "cannot name the iterations of " + name_);
}

void Dataset::attach_records(Dataset& scale, hsize_t records) {
  if (!is_new_) truncate_rows(records);
  attach_scale(0, scale);
}

// Where the list of the scale is full it does not have the dataset.
void Dataset::change_scale(std::size_t d, const Dataset& before, Dataset& scale) {
  if (H5DSdetach_scale(id_, before.id(), static_cast<unsigned>(d)) < 0) innermost_error();
  std::erase_if(scales_, [d](const auto& each) { return each.first == d; });
  be_named(d, scale, "cannot name a dimension of " + name_ + " anew");
  scales_.emplace_back(d, &scale);
  scale.grow_to({extents_[d]});
}

const Dataset* Dataset::outgrown(std::size_t d) const {
  const auto own = std::find_if(scales_.begin(), scales_.end(),
                                [d](const auto& each) { return each.first == d; });
  const bool is_short = own != scales_.end() && own->second->extents()[0] < extents_[d];
  return is_short ? own->second : nullptr;
}

void Dataset::be_named(std::size_t d, Dataset& scale, const std::string& what) {
  name_dimension(id_, static_cast<unsigned>(d), scale.id(), what);
  scale.named_.add(id_, static_cast<unsigned>(d));
}

haddr_t Dataset::scale_of(std::size_t d) const {
  return is_new_ ? HADDR_UNDEF : first_scale_of(id_, static_cast<unsigned>(d));
}

void set_labels(const Dataset& dataset, const std::vector<std::string>& names) {
  for (std::size_t d = 0; d < names.size(); ++d) set_label(dataset, d, names[d]);
}

void set_label(const Dataset& dataset, std::size_t d, const std::string& name) {
  check(H5DSset_label(dataset.id(), static_cast<unsigned>(d), name.c_str()),
        "cannot label a dimension of " + dataset.name());
}

void Dataset::write(const Shape& start, const Shape& count, const void* data) {
  write(start, count, data, MemoryPart{count, zeros(count), count});
}

void Dataset::write(const Shape& start, const Shape& count, const void* data,
                    const MemoryPart& memory) {
  if (product(count) == 0) return;
  const std::string what = "cannot write " + name_;
  if (count.empty()) {
    check(H5Dwrite(id_, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), what);
    return;
  }
  if (is_whole_chunks(chunk_, start, count, memory)) {
    write_whole_chunks(id_, chunk_, start, count, data, memory, H5Tget_size(type_));
    return;
  }
  const Id from = space_of(memory.extents);
  if (!memory.extents.empty())
    check(H5Sselect_hyperslab(from, H5S_SELECT_SET, memory.start.data(), nullptr,
                              memory.count.data(), nullptr),
          what);
  check(H5Dwrite(id_, type_, from, part_of(id_, start, count, what), H5P_DEFAULT, data), what);
}

void Dataset::read(const Shape& start, const Shape& count, void* data) const {
  read_part(id_, type_, start, count, data, "cannot read " + name_);
}

Shape chunk_of_iterations(const Shape& extents, std::uint64_t bytes, std::uint64_t bundle) {
  Shape chunk = part_of_iteration(extents, bytes, kLargeChunk);
  const std::uint64_t row = product(chunk) * bytes;
  chunk[0] = std::max({std::uint64_t{1}, bundle / row, std::min(kFewRows, kBytesOfFew / row)});
  return chunk;
}

Shape chunk_of_compressed(const Shape& extents, std::uint64_t bytes) {
  return part_of_iteration(extents, bytes, kCompressedChunk);
}

hsize_t records_in_chunk(std::uint64_t bytes, hsize_t at_once, bool again) {
  const std::uint64_t each = std::max<std::uint64_t>(1, bytes);
  const hsize_t most = std::max<hsize_t>(1, kLargeChunk / each);
  if (!again) return std::clamp<hsize_t>(at_once, 1, most);
  const hsize_t least = (kLeastAppended + each - 1) / each;
  const hsize_t share = at_once / kShareOfAppended;
  if (share <= least) return std::min(least, most);
  return even_piece(at_once, std::min(share, most));
}

hsize_t records_in_compressed(std::uint64_t bytes, hsize_t at_once) {
  const hsize_t most = std::max<hsize_t>(1, kCompressedChunk / std::max<std::uint64_t>(1, bytes));
  return even_piece(std::max<hsize_t>(1, at_once), std::clamp<hsize_t>(at_once / 4, 1, most));
}

Shape part_of_record(const Shape& extents, std::uint64_t bytes, bool compressed) {
  return part_of_iteration(extents, bytes, compressed ? kCompressedChunk : kLargeChunk);
}

namespace {

bool is_narrow(hid_t type) { return H5Tget_size(type) == sizeof(std::int32_t); }

bool is_small(std::int64_t value) {
  using Limits = std::numeric_limits<std::int32_t>;
  return value >= Limits::min() && value <= Limits::max();
}

}  // namespace

Id number_type(hid_t file, const std::string& name, std::int64_t largest) {
  bool wide = !is_small(largest);
  if (is_dataset(file, name)) {
    const Id type(H5Dget_type(open_dataset(file, name)), "type of " + name);
    wide = H5Tequal(type, H5T_NATIVE_INT64) > 0;
  }
  return Id(H5Tcopy(wide ? H5T_NATIVE_INT64 : H5T_NATIVE_INT32), "copying a type");
}

std::vector<std::uint8_t> number_bytes(hid_t type, std::int64_t value) {
  std::vector<std::uint8_t> bytes(H5Tget_size(type));
  const auto narrow = static_cast<std::int32_t>(value);
  std::memcpy(bytes.data(), is_narrow(type) ? static_cast<const void*>(&narrow) : &value,
              bytes.size());
  return bytes;
}

bool has_room_for(const Dataset& dataset, std::int64_t value) {
  return is_small(value) || !is_narrow(dataset.type());
}

void expect_room_for(const Dataset& dataset, std::int64_t value) {
  if (has_room_for(dataset, value)) return;
  throw std::runtime_error(
      dataset.name() + " cannot hold " + std::to_string(value) +
      ": it is a table of integers of 32 bits, the largest that CF-1.8 has, up to 2147483647");
}

void write_numbers(Dataset& dataset, const Shape& start, const Shape& count,
                   const std::vector<std::int64_t>& numbers) {
  for (const std::int64_t number : numbers) expect_room_for(dataset, number);
  if (!is_narrow(dataset.type())) {
    dataset.write(start, count, numbers.data());
    return;
  }
  const std::vector<std::int32_t> narrow(numbers.begin(), numbers.end());
  dataset.write(start, count, narrow.data());
}

std::vector<std::int64_t> read_numbers(const Dataset& dataset, const Shape& start,
                                       const Shape& count) {
  std::vector<std::int64_t> numbers(product(count));
  if (!is_narrow(dataset.type())) {
    dataset.read(start, count, numbers.data());
    return numbers;
  }
  std::vector<std::int32_t> narrow(numbers.size());
  dataset.read(start, count, narrow.data());
  std::copy(narrow.begin(), narrow.end(), numbers.begin());
  return numbers;
}

}  // namespace leat::hdf5
