// SPDX-License-Identifier: Apache-2.0
#include "server/derive/gradient.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "server/derive/coordinates.hpp"
#include "server/derive/evaluation.hpp"

namespace leat::server {

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
      neighbours_(layout_, from.blocks.at(derived.main)),
      along_(*derived.along),
      places_(
          coordinates_along(model, from, *derived.axis,
                            whole_length(layout_, from.blocks.at(derived.main).front(), along_))),
      step_(derived.axis->variable ? common_step(places_) : derived.axis->step) {}

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

std::string Gradient::compute(const Block& of, std::vector<double>* result) const {
  const Interior own = neighbours_.interior_of(of);
  const std::int64_t begin = own.begin[along_], count = own.count[along_], end = begin + count;
  std::int64_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < layout_.dimensions.size(); ++d) {
    if (d != along_) (d < along_ ? outer : inner) *= own.count[d];
  }
  if (outer * inner * count <= 0) return "";
  if (std::string why = look_at_places(begin, end); !why.empty()) return why;
  std::vector<double> low, high, room;
  const auto take = [&](std::int64_t index, std::vector<double>* to) {
    FixedIndices fixed{};
    fixed[along_] = index;
    return neighbours_.take(own, fixed, to);
  };
  std::string why;
  if (begin > 0) why = take(begin - 1, &low);
  if (why.empty() && end < static_cast<std::int64_t>(places_.size())) why = take(end, &high);
  if (!why.empty()) return why;
  const double* const all = neighbours_.values_of(own, &room);
  result->resize(static_cast<std::size_t>(outer * count * inner));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = (o * count + i) * inner;
      const double* const here = all + at;
      differentiate(begin + i, {i > 0 ? here - inner : low.data() + o * inner, here,
                                i + 1 < count ? here + inner : high.data() + o * inner,
                                result->data() + at, inner});
    }
  }
  return "";
}

}  // namespace leat::server
