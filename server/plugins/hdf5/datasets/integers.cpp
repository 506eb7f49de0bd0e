// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/datasets/integers.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace leat::hdf5 {
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
