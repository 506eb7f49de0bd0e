// SPDX-License-Identifier: Apache-2.0
#include "server/derive/neighbours.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "server/derive/evaluation.hpp"

namespace leat::server {

struct Neighbours::Taken {
  std::vector<double>& values;
  std::vector<std::uint8_t> is_there;

  // What is there already stays.
  void put(const Block& from, ScalarType type, std::int64_t there, std::size_t here,
           std::int64_t count) {
    const auto begin = is_there.begin() + static_cast<std::ptrdiff_t>(here);
    const bool is_new = std::find(begin, begin + count, 1) == begin + count;
    if (is_new) to_doubles(from.data, type, there, count, values.data() + here);
    for (std::int64_t i = 0; i < count && !is_new; ++i) {
      const std::size_t place = here + static_cast<std::size_t>(i);
      if (!is_there[place]) to_doubles(from.data, type, there + i, 1, values.data() + place);
    }
    std::fill_n(begin, count, 1);
  }
};

Interior Neighbours::interior_of(const Block& block) const {
  Interior interior{&block};
  for (std::size_t d = 0; d < layout_.dimensions.size(); ++d) {
    const model::Dimension& each = layout_.dimensions[d];
    interior.begin[d] = block.has_position ? block.position[d] : 0;
    interior.count[d] = block.extent[d] - each.ghost_low - each.ghost_high;
  }
  return interior;
}

const Block* Neighbours::block_of(std::int32_t rank, std::uint32_t number) const {
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& each) {
    return each.rank == rank && each.block == number;
  });
  return found == blocks_.end() ? nullptr : &*found;
}

// What of it lies there, or in its ghosts along the dimensions that are fixed.
void Neighbours::copy(const Interior& from, const Interior& own, const FixedIndices& fixed,
                      bool with_ghosts, Taken* taken) const {
  const std::size_t dims = layout_.dimensions.size();
  std::array<std::int64_t, kMaxDims> first{}, end{};
  for (std::size_t d = 0; d < dims; ++d) {
    const model::Dimension& each = layout_.dimensions[d];
    const bool has_ghosts = fixed[d] && with_ghosts;
    first[d] = std::max(fixed[d].value_or(own.begin[d]),
                        from.begin[d] - (has_ghosts ? each.ghost_low : 0));
    end[d] = std::min(fixed[d] ? *fixed[d] + 1 : own.begin[d] + own.count[d],
                      from.begin[d] + from.count[d] + (has_ghosts ? each.ghost_high : 0));
    if (first[d] >= end[d]) return;
  }
  const std::size_t last = dims - 1;
  const std::int64_t run = dims == 0 || fixed[last] ? 1 : end[last] - first[last];
  std::array<std::int64_t, kMaxDims> at = first;
  for (bool goes_on = true; goes_on;) {
    std::int64_t there = 0, here = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      there =
          there * from.block->extent[d] + at[d] - from.begin[d] + layout_.dimensions[d].ghost_low;
      if (!fixed[d]) here = here * own.count[d] + at[d] - own.begin[d];
    }
    taken->put(*from.block, layout_.type, there, static_cast<std::size_t>(here), run);
    goes_on = false;
    for (std::size_t d = dims; d-- > 0 && !goes_on;) {
      at[d] += d == last ? run : 1;
      goes_on = at[d] < end[d];
      if (!goes_on) at[d] = first[d];
    }
  }
}

const double* Neighbours::values_of(const Interior& own, std::vector<double>* room) const {
  std::int64_t count = 1;
  bool has_ghosts = false;
  for (std::size_t d = 0; d < layout_.dimensions.size(); ++d) {
    count *= own.count[d];
    has_ghosts = has_ghosts || own.count[d] != own.block->extent[d];
  }
  if (!has_ghosts && layout_.type == ScalarType::float64)
    return static_cast<const double*>(own.block->data);
  room->resize(static_cast<std::size_t>(std::max<std::int64_t>(0, count)));
  Taken taken{*room, std::vector<std::uint8_t>(room->size())};
  copy(own, own, {}, false, &taken);
  return room->data();
}

std::string Neighbours::take(const Interior& own, const FixedIndices& fixed,
                             std::vector<double>* values) const {
  std::int64_t count = 1;
  std::string where;
  for (std::size_t d = 0; d < layout_.dimensions.size(); ++d) {
    if (!fixed[d]) count *= own.count[d];
    if (fixed[d])
      where += fmt::format("{}index {} along \"{}\"", where.empty() ? "" : ", ", *fixed[d],
                           layout_.dimensions[d].name);
  }
  values->resize(static_cast<std::size_t>(std::max<std::int64_t>(0, count)));
  Taken taken{*values, std::vector<std::uint8_t>(values->size())};
  for (const Block& each : blocks_) copy(interior_of(each), own, fixed, false, &taken);
  copy(own, own, fixed, true, &taken);
  if (std::find(taken.is_there.begin(), taken.is_there.end(), 0) == taken.is_there.end()) return "";
  return fmt::format(
      "not made: what is at {}, beside the block of rank {}, is not on this server in this "
      "iteration: give the layout ghosts along it; what is made of others has none, so take what "
      "ranks write",
      where, own.block->rank);
}

}  // namespace leat::server
