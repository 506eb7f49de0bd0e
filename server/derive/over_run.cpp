// SPDX-License-Identifier: Apache-2.0
#include "server/derive/over_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"

namespace leat::server {

void OverRun::make(std::uint32_t variable, Making* making) {
  const model::Derived& derived = making->derived(variable);
  std::vector<DerivedJob> jobs;
  if (!making->is_told_elsewhere(derived.main)) jobs = jobs_of(variable, making);
  ValuesMade made;
  const auto reducer = std::make_shared<SpaceReducer>(derived);
  for (const DerivedJob& job : jobs) add(variable, job, reducer.get(), &made, making);
  const std::optional<Outcome> outcome = ask_all(variable, reducer, *making);
  if (outcome && !outcome->columns.empty()) {
    tell(variable, *reducer, *outcome, jobs, &made, making);
  } else if (!jobs.empty() && !outcome) {
    jobs[0].block.bytes = scalar_bytes(making->layout_of(variable).type);
    making->lose(jobs[0].block, variable,
                 "not made: what the other servers of the run have is not known, or not in time");
  }
  find_in_values(variable, made, making);
}

void OverRun::add(std::uint32_t variable, const DerivedJob& job, SpaceReducer* reducer,
                  ValuesMade* made, Making* making) {
  const std::vector<std::int64_t> extents =
      job.extents(making->derived(variable).is_reduced.size());
  const std::string why = reducer->add(job.block, [&](const Evaluation::Take& take) {
    values_.compute(variable, job.inputs, extents, made, take);
  });
  if (!why.empty()) making->lose(job.block, variable, why);
}

std::optional<OverRun::Outcome> OverRun::ask_all(std::uint32_t variable,
                                                 const std::shared_ptr<SpaceReducer>& reducer,
                                                 const Making& making) const {
  if (!reduce_) return Outcome{reducer->columns(0)};
  const std::vector<std::uint32_t>& all = making.model.derived_order;
  const auto place = std::find(all.begin(), all.end(), variable);
  return reduce_(making.iteration.number, static_cast<std::uint16_t>(place - all.begin()),
                 [reducer](comm::Rank self) { return reducer->columns(self); });
}

void OverRun::tell(std::uint32_t variable, const SpaceReducer& reducer, const Outcome& outcome,
                   const std::vector<DerivedJob>& jobs, ValuesMade* made, Making* making) {
  const SpaceReducer::Result result = reducer.result(outcome.columns);
  if (result.server == INT64_MAX) return;
  // What is selected may lie on some of them.
  const std::vector<model::Selected>& parts = making->derived(variable).selection;
  const bool is_part = std::any_of(parts.begin(), parts.end(),
                                   [](const model::Selected& each) { return !each.is_all(); });
  const std::int64_t gave = is_part ? outcome.took_part : result.gave;
  if (gave < outcome.servers)
    making->find(
        "servers", variable,
        fmt::format("{} of {} servers of the run have given their part", gave, outcome.servers));
  Block block;
  if (!jobs.empty()) block = jobs.front().block;
  block.variable = variable;
  block.block = 0;
  block.has_position = true;
  block.extent = block.position = block.global = {};
  std::copy(result.extents.begin(), result.extents.end(), block.extent.begin());
  block.global = block.extent;
  block.bytes = result.values.size() * scalar_bytes(making->layout_of(variable).type);
  Result<std::shared_ptr<DerivedMemory::Piece>> piece =
      memory_.take(round_up(block.bytes, kBlockAlignment));
  if (!piece)
    return making->lose(block, variable, "it could not be made: " + piece.error().message);
  block.data = (*piece)->start;
  block.shared = piece->get();
  values_.put(variable, result.values.data(), 0, static_cast<std::int64_t>(result.values.size()),
              const_cast<char*>((*piece)->start), made);
  making->pin(variable, *piece);
  making->note_of_run(variable);
  making->add(block, result.server != outcome.self);
}

}  // namespace leat::server
