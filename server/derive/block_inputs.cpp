// SPDX-License-Identifier: Apache-2.0
#include "server/derive/block_inputs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace leat::server {
namespace {

bool has_same_extents(const Block& a, const Block& b, std::size_t dims) {
  return std::equal(a.extent.begin(), a.extent.begin() + static_cast<std::ptrdiff_t>(dims),
                    b.extent.begin());
}

bool has_same_ghosts(const model::Layout& a, const model::Layout& b) {
  return std::equal(a.dimensions.begin(), a.dimensions.end(), b.dimensions.begin(),
                    b.dimensions.end(), [](const model::Dimension& x, const model::Dimension& y) {
                      return x.ghost_low == y.ghost_low && x.ghost_high == y.ghost_high;
                    });
}

std::array<std::int64_t, kMaxDims> steps_in_order(const Block& block, std::size_t dims) {
  std::array<std::int64_t, kMaxDims> steps{};
  std::int64_t step = 1;
  for (std::size_t d = dims; d-- > 0;) {
    steps[d] = step;
    step *= block.extent[d];
  }
  return steps;
}

}  // namespace

std::string extents_text(const Block& block, std::size_t dims) {
  std::string text;
  for (std::size_t d = 0; d < dims; ++d) text += (d ? ", " : "") + std::to_string(block.extent[d]);
  return "(" + text + ")";
}

// "" or why they are not there.
std::string BlockInputs::find(const model::Derived& derived, const Block& of,
                              std::vector<ArrayInput>* inputs) const {
  for (const model::Derived::Input& each : derived.inputs) {
    ArrayInput input;
    std::string why;
    if (each.is_parameter) {
      input.data = &from_.parameters[each.number];
    } else {
      why = take(of, each.number, !derived.selection.empty(), &input);
    }
    if (!why.empty()) return why;
    inputs->push_back(input);
  }
  return "";
}

// Makes of the whole block, and of what is taken of each input, the part that is kept. False when nothing of it lies there.
bool BlockInputs::select(const model::Layout& whole, const std::vector<model::Selected>& parts,
                         Block* block, std::vector<ArrayInput>* inputs) const {
  const Block of = *block;
  block->extent = block->position = block->global = {};
  std::size_t kept = 0;
  std::array<std::array<std::int64_t, kMaxDims>, 2>
      taken{};  // of each dimension of the whole: the first element, and from one to the next
  std::array<std::size_t, kMaxDims> place{};
  for (std::size_t d = 0; d < whole.dimensions.size(); ++d) {
    const model::Selected& part = parts[d];
    const model::Dimension& dimension = whole.dimensions[d];
    const std::int64_t begin = of.has_position ? of.position[d] : 0;
    const std::int64_t own = of.extent[d] - dimension.ghost_low - dimension.ghost_high;
    const std::int64_t end =
        std::min(begin + own, part.is_one ? part.first + 1 : part.end.value_or(INT64_MAX));
    const std::int64_t behind = std::max<std::int64_t>(0, begin - part.first);
    const std::int64_t number =
        (behind + part.step - 1) / part.step;  // of the first one in this block
    const std::int64_t first = part.first + number * part.step;
    if (first >= end) return false;
    taken[0][d] = dimension.ghost_low + first - begin;
    taken[1][d] = part.step;
    place[d] = kept;
    if (part.is_one) {
      place[d] = kMaxDims;
      continue;
    }
    block->extent[kept] = (end - first + part.step - 1) / part.step;
    block->position[kept] = of.has_position ? number : 0;
    if (of.has_position) {
      const std::int64_t last = std::min(of.global[d], part.end.value_or(INT64_MAX));
      block->global[kept] =
          std::max<std::int64_t>(0, (last - part.first + part.step - 1) / part.step);
    }
    ++kept;
  }
  for (ArrayInput& input : *inputs) {
    const std::array<std::int64_t, kMaxDims> steps =
        input.is_like_result ? steps_in_order(of, whole.dimensions.size()) : input.steps;
    std::int64_t first = 0;
    input.steps = {};
    input.is_like_result = false;
    for (std::size_t d = 0; d < whole.dimensions.size(); ++d) {
      first += taken[0][d] * steps[d];
      if (place[d] < kMaxDims) input.steps[place[d]] = steps[d] * taken[1][d];
    }
    input.data = static_cast<const char*>(input.data) +
                 first * static_cast<std::int64_t>(scalar_bytes(input.type));
  }
  return true;
}

// The block that this one is made of: of the same rank and number, else of the same rank, else one that any rank wrote.
const Block* BlockInputs::block_like(const Block& own, std::uint32_t variable) const {
  const auto found = from_.blocks.find(variable);
  if (found == from_.blocks.end()) return nullptr;
  const Block* best = nullptr;
  int how_good = 0;
  const std::size_t dims = layout_of(variable).dimensions.size(),
                    own_dims = layout_of(own.variable).dimensions.size();
  for (const Block& each : found->second) {
    const bool same_rank = each.rank == own.rank;
    const int good = same_rank && each.block == own.block ? 3
                     : same_rank && dims < own_dims       ? 2
                     : dims < own_dims                    ? 1
                                                          : 0;
    if (good > how_good) {
      how_good = good;
      best = &each;
    }
  }
  return best;
}

// An element of the whole is `shift` places further in that block than in this one. Where ghosts are not kept, they need not be there.
std::string BlockInputs::take(const Block& own, std::uint32_t number, bool without_ghosts,
                              ArrayInput* input) const {
  const model::Layout& layout = layout_of(own.variable);
  const model::Variable& variable = model_.variables[number];
  const model::Layout& its = model_.layouts[variable.layout];
  const Block* const block = block_like(own, number);
  if (!block)
    return fmt::format("not made: rank {} has no block {} of \"{}\" in this iteration", own.rank,
                       own.block, variable.name);
  const std::size_t dims = layout.dimensions.size(), its_dims = its.dimensions.size();
  const auto do_not_fit = [&] {
    return fmt::format("not made: its shape is {}, and that of \"{}\" {}", extents_text(own, dims),
                       variable.name, extents_text(*block, its_dims));
  };
  input->data = block->data;
  input->type = its.type;
  const bool is_alike = its_dims == dims && has_same_ghosts(layout, its);
  if (is_alike) {
    input->is_like_result = true;
    return has_same_extents(own, *block, dims) ? "" : do_not_fit();
  }
  const std::array<std::int64_t, kMaxDims> its_steps = steps_in_order(*block, its_dims);
  std::int64_t first = 0;
  for (std::size_t e = 0; e < its_dims; ++e) {
    std::size_t d = its_dims == dims ? e : 0;
    while (d < dims && its_dims != dims && layout.dimensions[d].name != its.dimensions[e].name) ++d;
    if (d == dims) return do_not_fit();
    const model::Dimension &here = layout.dimensions[d], &there = its.dimensions[e];
    const bool both_have_place = own.has_position && block->has_position;
    const std::int64_t shift = (both_have_place ? own.position[d] - block->position[e] : 0) +
                               there.ghost_low - here.ghost_low;
    const std::int64_t low = without_ghosts ? here.ghost_low : 0,
                       high = without_ghosts ? here.ghost_high : 0;
    const bool fits = shift + low >= 0 && shift + own.extent[d] - high <= block->extent[e];
    const bool is_all = own.extent[d] - here.ghost_low - here.ghost_high ==
                        block->extent[e] - there.ghost_low - there.ghost_high;
    if (!fits || (!both_have_place && !is_all) || (its_dims == dims && !is_all))
      return do_not_fit();
    first += shift * its_steps[e];
    input->steps[d] = its_steps[e];
  }
  input->data = static_cast<const char*>(block->data) +
                first * static_cast<std::int64_t>(scalar_bytes(its.type));
  return "";
}

}  // namespace leat::server
