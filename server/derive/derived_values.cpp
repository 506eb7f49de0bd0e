// SPDX-License-Identifier: Apache-2.0
#include "server/derive/derived_values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lib/base/text.hpp"

namespace leat::server {

DerivedValues::DerivedValues(const model::Model& model) : model_(model) {
  for (const std::uint32_t each : model.derived_order)
    evaluations_.try_emplace(each, model.variables[each].derived->expression);
}

void DerivedValues::compute(std::uint32_t variable, const std::vector<ArrayInput>& inputs,
                            const std::vector<std::int64_t>& extents, ValuesMade* made,
                            const Evaluation::Take& take) {
  Evaluation& evaluation = evaluations_.at(variable);
  evaluation.run(inputs, extents,
                 [&](std::int64_t first, const double* values, std::int64_t count) {
                   made->not_finite += evaluation.count_not_finite(values, count);
                   take(first, values, count);
                 });
  made->inexact += evaluation.inexact();
}

void DerivedValues::put(std::uint32_t variable, const double* values, std::int64_t first,
                        std::int64_t count, char* to, ValuesMade* made) const {
  const model::Variable& its = model_.variables[variable];
  const model::UnitChange& change = its.derived->change;
  const ScalarType type = model_.layouts[its.layout].type;
  double changed[Evaluation::kAtOnce];
  for (std::int64_t done = 0; done < count; done += Evaluation::kAtOnce) {
    const std::int64_t some = std::min(Evaluation::kAtOnce, count - done);
    const double* part = values + done;
    if (!change.is_none()) {
      for (std::int64_t i = 0; i < some; ++i) changed[i] = part[i] * change.scale + change.offset;
      part = changed;
    }
    made->too_large += from_doubles(part, some, type, to, first + done);
  }
}

void DerivedValues::make(std::uint32_t variable, DerivedJob* job, ValuesMade* made) {
  const model::Derived& derived = *model_.variables[variable].derived;
  const model::Layout& layout = model_.layouts[model_.variables[variable].layout];
  char* const to =
      job->tells ? const_cast<char*>(static_cast<const char*>(job->block.data)) : nullptr;
  if (!to && !job->step) return;
  if (job->without) return make_without_values(variable, *job, to, made);
  if (job->inputs.empty()) return;
  const ArrayInput& only = job->inputs[0];
  const bool is_copy = !job->step && derived.change.is_none() && derived.expression.is_name() &&
                       only.type == layout.type;
  if (is_copy) return copy_elements(only, job->extents(layout.dimensions.size()), to);
  double result[Evaluation::kAtOnce];
  compute(variable, job->inputs, job->extents(layout.dimensions.size()), made,
          [&](std::int64_t first, const double* values, std::int64_t count) {
            if (job->step) job->step->add(first, values, count, to ? result : nullptr);
            if (to) put(variable, job->step ? result : values, first, count, to, made);
          });
  if (job->step) job->step->finish();
}

void DerivedValues::make_without_values(std::uint32_t variable, const DerivedJob& job, char* to,
                                        ValuesMade* made) const {
  const model::Layout& layout = model_.layouts[model_.variables[variable].layout];
  const std::int64_t all = elements_of(job.block.extent.data(), layout.dimensions.size());
  double result[Evaluation::kAtOnce];
  for (std::int64_t first = 0; first < all; first += Evaluation::kAtOnce) {
    const std::int64_t count = std::min(Evaluation::kAtOnce, all - first);
    job.without->result(first, count, result);
    put(variable, result, first, count, to, made);
  }
}

void find_in_values(std::uint32_t variable, const ValuesMade& made, Making* making) {
  const model::Derived& derived = making->derived(variable);
  const auto values = [](std::int64_t count) {
    return counted(static_cast<std::uint64_t>(count), "value");
  };
  for (const model::Derived::Input& each : derived.inputs) {
    if (each.is_parameter && std::isnan(making->from.parameters[each.number]) &&
        making->has_blocks(derived.main))
      making->find(
          "no value", variable,
          fmt::format("the parameter \"{}\" in expr=\"{}\" has no value: all that is made "
                      "of it is NaN",
                      making->model.parameters[each.number].name, derived.expression.text));
  }
  const ScalarType type = making->layout_of(variable).type;
  if (made.not_finite > 0)
    making->find("not finite", variable,
                 fmt::format("{} infinite or no number, though all in expr=\"{}\" is finite there",
                             values(made.not_finite), derived.expression.text));
  if (made.too_large > 0)
    making->find(
        "too large", variable,
        fmt::format("{} beyond what {} can have: {} in its place", values(made.too_large),
                    scalar_name(type),
                    type == ScalarType::float32 ? "an infinity is" : "the missing value is"));
  if (made.inexact > 0)
    making->find("inexact", variable,
                 fmt::format("{} of 64-bit integers beyond 2^53 in expr=\"{}\" are taken as the "
                             "nearest double",
                             values(made.inexact), derived.expression.text));
  if (made.periods_lost)
    making->find("periods", variable,
                 "a step of the time goes over more than one period of every: those in between, "
                 "and what ends in the same iteration as a later one, have no row");
}

}  // namespace leat::server
