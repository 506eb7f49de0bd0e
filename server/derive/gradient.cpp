// SPDX-License-Identifier: Apache-2.0
#include "server/derive/gradient.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "server/derive/coordinates.hpp"
#include "server/derive/evaluation.hpp"

namespace leat::server {

// A block without its ghosts, in the whole.
struct Gradient::Box {
  const Block* block;
  std::array<std::int64_t, kMaxDims> begin{}, count{};
};

namespace {

// From one place to the next, where it is the same to the last bit; nothing where it is not. Places that are not known count for nothing.
std::optional<double> common_step(const std::vector<double>& places) {
  std::optional<double> step;
  for (std::size_t i = 1; i < places.size(); ++i) {
    const double here = places[i] - places[i - 1];
    if (std::isnan(here)) continue;
    if (step && *step != here) return std::nullopt;
    step = here;
  }
  return step;
}

}  // namespace

Gradient::Gradient(const model::Model& model, const DerivedFrom& from,
                   const model::Derived& derived)
    : layout_(model.layouts[model.variables[derived.main].layout]),
      blocks_(from.blocks.at(derived.main)),
      along_(*derived.along),
      places_(coordinates_along(model, from, *derived.axis,
                                whole_length(layout_, blocks_.front(), along_))),
      step_(derived.axis->variable ? common_step(places_) : derived.axis->step) {}

Gradient::Box Gradient::box_of(const Block& block) const {
  Box box{&block};
  for (std::size_t d = 0; d < layout_.dimensions.size(); ++d) {
    const model::Dimension& each = layout_.dimensions[d];
    box.begin[d] = block.has_position ? block.position[d] : 0;
    box.count[d] = block.extent[d] - each.ghost_low - each.ghost_high;
  }
  return box;
}

// Of a row of values at that index, from those beside it.
void Gradient::differentiate(std::int64_t index, const Row& row) const {
  const auto last = static_cast<std::int64_t>(places_.size()) - 1;
  const auto place = [this](std::int64_t i) { return places_[static_cast<std::size_t>(i)]; };
  if (index == 0 || index == last) {
    const std::int64_t at = std::max<std::int64_t>(1, index);
    const double step = step_ ? *step_ : place(at) - place(at - 1);
    const double *const from = index == 0 ? row.here : row.below, *const to = index == 0 ? row.above
                                                                                         : row.here;
    for (std::int64_t k = 0; k < row.count; ++k) row.out[k] = (to[k] - from[k]) / step;
    return;
  }
  if (step_) {
    const double steps = 2. * *step_;
    for (std::int64_t k = 0; k < row.count; ++k) row.out[k] = (row.above[k] - row.below[k]) / steps;
    return;
  }
  const double low = place(index) - place(index - 1), high = place(index + 1) - place(index);
  const double a = -high / (low * (low + high)), b = (high - low) / (low * high),
               c = low / (high * (low + high));
  for (std::int64_t k = 0; k < row.count; ++k)
    row.out[k] = a * row.below[k] + b * row.here[k] + c * row.above[k];
}

// What of the plane lies in the box, or, of its own, in its ghosts along the dimension.
void Gradient::copy_plane(const Box& box, const Box& own, std::int64_t index, bool with_ghosts,
                          Plane* plane) const {
  const std::size_t dims = layout_.dimensions.size();
  std::array<std::int64_t, kMaxDims> first{}, end{};
  for (std::size_t d = 0; d < dims; ++d) {
    const model::Dimension& each = layout_.dimensions[d];
    const bool is_along = d == along_, has_ghosts = is_along && with_ghosts;
    first[d] =
        std::max(is_along ? index : own.begin[d], box.begin[d] - (has_ghosts ? each.ghost_low : 0));
    end[d] = std::min(is_along ? index + 1 : own.begin[d] + own.count[d],
                      box.begin[d] + box.count[d] + (has_ghosts ? each.ghost_high : 0));
    if (first[d] >= end[d]) return;
  }
  std::array<std::int64_t, kMaxDims> at = first;
  for (bool goes_on = true; goes_on;) {
    std::int64_t from = 0, to = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      from = from * box.block->extent[d] + at[d] - box.begin[d] + layout_.dimensions[d].ghost_low;
      if (d != along_) to = to * own.count[d] + at[d] - own.begin[d];
    }
    const auto place = static_cast<std::size_t>(to);
    if (!plane->is_there[place])
      to_doubles(box.block->data, layout_.type, from, 1, plane->values.data() + place);
    plane->is_there[place] = 1;
    goes_on = false;
    for (std::size_t d = dims; d-- > 0 && !goes_on;) {
      goes_on = ++at[d] < end[d];
      if (!goes_on) at[d] = first[d];
    }
  }
}

// Values beside the box: those that somebody has there, else the ghosts that this rank has.
std::string Gradient::take_plane(const Box& own, std::int64_t index, Plane* plane) const {
  for (const Block& each : blocks_) copy_plane(box_of(each), own, index, false, plane);
  copy_plane(own, own, index, true, plane);
  if (std::find(plane->is_there.begin(), plane->is_there.end(), 0) == plane->is_there.end())
    return "";
  return fmt::format(
      "not made: what is at index {} along \"{}\", beside the block of rank {}, is not on this "
      "server in this iteration: give the layout ghosts along it; what is made of others has none, "
      "so take d() of "
      "what ranks write",
      index, layout_.dimensions[along_].name, own.block->rank);
}

// "" or why not all places are known that it takes.
std::string Gradient::look_at_places(std::int64_t begin, std::int64_t end) const {
  const auto whole = static_cast<std::int64_t>(places_.size());
  const std::string& name = layout_.dimensions[along_].name;
  if (whole < 2) return fmt::format("not made: there is one value along \"{}\"", name);
  for (std::int64_t i = std::max<std::int64_t>(0, begin - 1); i < std::min(whole, end + 1); ++i) {
    if (std::isnan(places_[static_cast<std::size_t>(i)]))
      return fmt::format(
          "not made: the coordinate at index {} along \"{}\" is not known to this server: give its "
          "layout "
          "ghosts, or write all of it on each rank",
          i, name);
  }
  return "";
}

std::string Gradient::compute(const Block& of, const double* values, double* to) const {
  const Box own = box_of(of);
  const std::int64_t begin = own.begin[along_], count = own.count[along_], end = begin + count;
  std::int64_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < layout_.dimensions.size(); ++d) {
    if (d != along_) (d < along_ ? outer : inner) *= own.count[d];
  }
  if (outer * inner * count <= 0) return "";
  if (std::string why = look_at_places(begin, end); !why.empty()) return why;
  const auto size = static_cast<std::size_t>(outer * inner);
  Plane low{std::vector<double>(size), std::vector<std::uint8_t>(size)}, high = low;
  std::string why;
  if (begin > 0) why = take_plane(own, begin - 1, &low);
  if (why.empty() && end < static_cast<std::int64_t>(places_.size()))
    why = take_plane(own, end, &high);
  if (!why.empty()) return why;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = (o * count + i) * inner;
      const double* const here = values + at;
      differentiate(begin + i, {i > 0 ? here - inner : low.values.data() + o * inner, here,
                                i + 1 < count ? here + inner : high.values.data() + o * inner,
                                to + at, inner});
    }
  }
  return "";
}

}  // namespace leat::server
