// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/neighbours.hpp"

#include <stdexcept>

namespace leat::hdf5 {
namespace {

constexpr std::uint64_t kSmall = 64ull * 1024;
// So many at least, up to the end of a chunk: HDF5 writes whole chunks as they are, and those of
// which it gets a part twice.
constexpr std::uint64_t kTogether = 1024ull * 1024, kMost = 4 * kTogether;

// Runs that lie in memory in one piece, one by one: of dimensions behind one that is there in part,
// all, where there are no ghosts.
void pack(const char* data, const MemoryPart& memory, std::uint64_t element,
          std::vector<char>* to) {
  const std::size_t dims = memory.count.size();
  if (product(memory.count) == 0) return;
  std::uint64_t row = element;
  Shape at = zeros(memory.count), step(dims, 1);
  bool is_in_one = true;
  for (std::size_t d = dims; d-- > 0 && is_in_one;) {
    step[d] = memory.count[d];
    row *= memory.count[d];
    is_in_one = memory.count[d] == memory.extents[d];
  }
  do {
    std::uint64_t from = 0;
    for (std::size_t d = 0; d < dims; ++d)
      from = from * memory.extents[d] + memory.start[d] + at[d];
    to->insert(to->end(), data + from * element, data + from * element + row);
  } while (next_piece(memory.count, step, &at));
}

}  // namespace

Neighbours::Neighbours(Dataset* to) : to_(*to), element_(H5Tget_size(to->type())) {}

bool Neighbours::fits(const Shape& start, const Shape& count, std::uint64_t bytes) const {
  return bytes < kSmall && behind(count) == behind(to_.extents()) &&
         behind(start) == zeros(behind(start));
}

void Neighbours::add(const Shape& start, const Shape& count, const void* data,
                     const MemoryPart& memory) {
  const std::uint64_t bytes = product(count) * element_;
  const bool is_small = fits(start, count, bytes);
  if (!is_small || start[0] != first_ + waiting_) write_waiting();
  if (!is_small) return to_.write(start, count, data, memory);
  if (waiting_ == 0) first_ = start[0];
  pack(static_cast<const char*>(data), memory, element_, &values_);
  waiting_ += count[0];
  const bool is_end_of_chunk = (first_ + waiting_) % to_.rows_of_chunk() == 0;
  if (values_.size() >= (is_end_of_chunk ? kTogether : kMost)) write_waiting();
}

void Neighbours::flush() {
  write_waiting();
  if (!failed_.empty()) throw std::runtime_error(failed_);
}

void Neighbours::write_waiting() {
  if (waiting_ == 0) return;
  const Shape rest = behind(to_.extents());
  const Shape start = joined(first_, zeros(rest)), count = joined(waiting_, rest);
  try {
    to_.write(start, count, values_.data());
  } catch (const std::exception& e) {
    failed_ = e.what();
  }
  waiting_ = 0;
  values_.clear();
}

}  // namespace leat::hdf5
