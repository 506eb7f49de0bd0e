// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/cell_order.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "server/plugins/hdf5/arrays/blocks.hpp"
#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/output/options.hpp"

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

namespace {

template <class T>
std::vector<std::int64_t> numbers_of(const leat_block& block) {
  std::vector<T> values(block.bytes / sizeof(T));
  if (block.bytes > 0) std::memcpy(values.data(), block.data, values.size() * sizeof(T));
  return std::vector<std::int64_t>(values.begin(), values.end());
}

// Nothing for what are no whole numbers. Those above 2^63 become negative, and no place.
std::optional<std::vector<std::int64_t>> integers_in(std::uint32_t type, const leat_block& block) {
  switch (type) {
    case LEAT_INT8:
      return numbers_of<std::int8_t>(block);
    case LEAT_INT16:
      return numbers_of<std::int16_t>(block);
    case LEAT_INT32:
      return numbers_of<std::int32_t>(block);
    case LEAT_INT64:
      return numbers_of<std::int64_t>(block);
    case LEAT_UINT8:
      return numbers_of<std::uint8_t>(block);
    case LEAT_UINT16:
      return numbers_of<std::uint16_t>(block);
    case LEAT_UINT32:
      return numbers_of<std::uint32_t>(block);
    case LEAT_UINT64:
      return numbers_of<std::uint64_t>(block);
    default:
      return std::nullopt;
  }
}

std::string quoted(const char* name) { return std::string("\"") + name + "\""; }

}  // namespace

CellOrder::CellOrder(const leat_run& run, const Host& host, const std::string& text)
    : run_(run), host_(host) {
  if (text.empty()) return;
  const auto names = select_file_from(text);
  if (!names) throw std::runtime_error("option select-file=\"" + text + "\" is not of its form");
  for (const auto& [variable, index] : *names) {
    const std::uint32_t own = number_of(variable, text), other = number_of(index, text);
    const leat_variable& ordered = *leat_variable_at(&run_, own);
    const bool is_list = ordered.dims == 1 && ordered.dimension[0].ghost_low == 0 &&
                         ordered.dimension[0].ghost_high == 0;
    if (!ordered.has_global || !is_list)
      throw std::runtime_error(
          "option select-file of the store \"" + std::string(run_.store) +
          "\": " + quoted(ordered.name) +
          " needs a layout of one dimension with a global shape and no ghosts");
    if (!integers_in(leat_variable_at(&run_, other)->type, leat_block{}))
      throw std::runtime_error("option select-file of the store \"" + std::string(run_.store) +
                               "\": the values of " + quoted(index.c_str()) +
                               " are no integers, and are to be places in an array");
    index_of_[own] = other;
  }
}

std::uint32_t CellOrder::number_of(const std::string& name, const std::string& text) const {
  for (std::uint64_t i = 0; i < run_.variable_count; ++i) {
    if (name == leat_variable_at(&run_, i)->name) return static_cast<std::uint32_t>(i);
  }
  throw std::runtime_error("option select-file=\"" + text + "\" of the store \"" + run_.store +
                           "\": there is no variable \"" + name + "\"");
}

void CellOrder::note(const std::vector<BlockList>& by_variable) {
  for (const BlockList& blocks : by_variable) {
    const std::uint32_t variable = blocks.front()->variable;
    if (!is_index(variable)) continue;
    const std::uint32_t type = leat_variable_at(&run_, variable)->type;
    for (const leat_block* block : blocks)
      known_[{variable, block->rank, block->block}] = *integers_in(type, *block);
  }
}

bool CellOrder::is_index(std::uint32_t variable) const {
  const auto is_it = [&](const auto& each) { return each.second == variable; };
  return std::any_of(index_of_.begin(), index_of_.end(), is_it);
}

// What cannot be read is as what was never seen: who needs it says so.
void CellOrder::recover(const std::vector<std::string>& files) {
  std::set<std::uint32_t> indices;
  for (const auto& [variable, index] : index_of_) indices.insert(index);
  for (const std::string& path : files) {
    try {
      const Id file = open_plain(path, "cannot read " + path);
      for (const std::uint32_t index : indices) {
        for (IndexPart& part : stored_parts(file, leat_variable_at(&run_, index)->name))
          known_.try_emplace({index, part.rank, part.block}, std::move(part.places));
      }
    } catch (const std::exception& e) {
      host_.warn(std::string("store \"") + run_.store + "\": " + e.what());
    }
  }
}

const CellOrder::Places& CellOrder::places_of(const leat_variable& variable, std::uint32_t index,
                                              const leat_block& block, std::uint64_t cells) const {
  const std::string name = quoted(leat_variable_at(&run_, index)->name);
  const std::string whose = quoted(variable.name) + " of rank " + std::to_string(block.rank);
  const auto found = known_.find({index, block.rank, block.block});
  if (found == known_.end())
    throw std::runtime_error(
        whose + " has no place: the store has not seen " + name + " of that rank" +
        (leat_run_is_resumed(&run_) ? ", which was written before the server was restarted" : ""));
  const Places& places = found->second;
  const std::uint64_t values = block.bytes / H5Tget_size(type_of(variable.type));
  if (places.size() != values)
    throw std::runtime_error(whose + " has " + std::to_string(values) + " values, and " + name +
                             " has " + std::to_string(places.size()) + " places for them");
  const auto outside = std::find_if(places.begin(), places.end(), [&](std::int64_t place) {
    return place < 0 || static_cast<std::uint64_t>(place) >= cells;
  });
  if (outside != places.end())
    throw std::runtime_error(whose + ": " + name + " has the place " + std::to_string(*outside) +
                             ", and the global array " + std::to_string(cells) + " from 0 on");
  return places;
}

CellOrder::Array CellOrder::arrange(std::uint32_t number, const BlockList& blocks,
                                    std::uint64_t cells) {
  const leat_variable& variable = *leat_variable_at(&run_, number);
  const std::uint32_t index = index_of_.at(number);
  std::vector<const Places*> places;
  std::uint64_t values = 0;
  for (const leat_block* block : blocks) {
    places.push_back(&places_of(variable, index, *block, cells));
    values += places.back()->size();
  }
  const std::size_t bytes = H5Tget_size(type_of(variable.type));
  Array array{std::vector<std::uint8_t>(cells * bytes), false};
  std::vector<bool> taken(cells);
  std::uint64_t filled = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto* value = static_cast<const std::uint8_t*>(blocks[b]->data);
    for (const std::int64_t place : *places[b]) {
      const auto at = static_cast<std::size_t>(place);
      filled += taken[at] ? 0 : 1;
      taken[at] = true;
      std::memcpy(array.values.data() + at * bytes, value, bytes);
      value += bytes;
    }
  }
  array.has_holes = filled < cells;
  const std::vector<std::uint8_t> fill = fill_value(variable.type);
  for (std::size_t at = 0; array.has_holes && at < cells; ++at) {
    if (!taken[at]) std::memcpy(array.values.data() + at * bytes, fill.data(), bytes);
  }
  const std::string name = quoted(leat_variable_at(&run_, index)->name);
  if (array.has_holes)
    warn_once(number, "holes: " + std::to_string(cells - filled) + " of " + std::to_string(cells) +
                          " places are in no rank's " + name + " and have the fill value");
  if (filled < values)
    warn_once(number, std::to_string(values - filled) + " places are more than once in " + name +
                          ": the value of the highest rank is stored");
  return array;
}

// In its first iteration; others may have other numbers.
void CellOrder::warn_once(std::uint32_t variable, const std::string& what) {
  const std::string name = quoted(leat_variable_at(&run_, variable)->name);
  if (warned_.insert(name + (what.starts_with("holes") ? "holes" : "twice")).second)
    host_.warn("store \"" + std::string(run_.store) + "\": " + name + ": " + what);
}

}  // namespace leat::hdf5
