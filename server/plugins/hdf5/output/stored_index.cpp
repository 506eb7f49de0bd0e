// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/stored_index.hpp"

#include <algorithm>
#include <utility>

#include "server/plugins/hdf5/arrays/block_check.hpp"
#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {
namespace {

constexpr const char* kParts = "leat_parts";
constexpr std::size_t kNumbersOfPart = 4;
// More do not go into an attribute.
constexpr std::size_t kMostParts = 1500;

bool lie_on_each_other(std::vector<std::pair<std::int64_t, std::int64_t>> ranges) {
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) return true;
  }
  return false;
}

}  // namespace

void note_parts(hid_t dataset, const leat_variable& variable, const BlockList& blocks) {
  if (variable.dims != 1 || blocks.size() > kMostParts) return;
  std::vector<std::int64_t> numbers;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const leat_block* block : blocks) {
    const std::int64_t length = own_cells(variable, *block, 0), position = block->position[0];
    numbers.insert(numbers.end(), {block->rank, std::int64_t{block->block}, position, length});
    if (length > 0) ranges.emplace_back(position, position + length);
  }
  if (!lie_on_each_other(std::move(ranges))) set_attribute(dataset, kParts, numbers);
}

std::vector<IndexPart> stored_parts(hid_t file, const std::string& variable) {
  std::vector<IndexPart> parts;
  if (!is_dataset(file, variable)) return parts;
  const Id dataset = open_dataset(file, variable);
  if (!has_attribute(dataset, kParts)) return parts;
  const std::vector<double> numbers = numbers_attribute(dataset, kParts);
  for (std::size_t at = 0; at + kNumbersOfPart <= numbers.size(); at += kNumbersOfPart) {
    IndexPart part{
        static_cast<std::int32_t>(numbers[at]), static_cast<std::uint32_t>(numbers[at + 1]), {}};
    const auto length = static_cast<hsize_t>(numbers[at + 3]);
    part.places.resize(length);
    if (length > 0)
      read_part(dataset, H5T_NATIVE_INT64, {static_cast<hsize_t>(numbers[at + 2])}, {length},
                part.places.data(), "cannot read " + variable);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace leat::hdf5
