// SPDX-License-Identifier: Apache-2.0
#include "server/derive/derivation.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "lib/model/wanted.hpp"
#include "server/derive/kept_parameters.hpp"

namespace leat::server {

namespace {

bool is_anything_made(const model::Model& model) {
  const bool is_anything_due =
      std::any_of(model.stores.begin(), model.stores.end(),
                  [](const model::Store& each) { return each.due.has_value(); }) ||
      std::any_of(model.variables.begin(), model.variables.end(),
                  [](const model::Variable& each) { return each.period.has_value(); });
  return !model.derived_order.empty() || is_anything_due;
}

}  // namespace

Result<std::unique_ptr<Derivation>> Derivation::make(const model::Model& model, Files files,
                                                     std::shared_ptr<Log> log) {
  if (!is_anything_made(model)) {
    if (!Constants(model).any()) return std::unique_ptr<Derivation>();
    files.saved.clear();  // it is over no period
  }
  if (files.is_resumed && files.has_some_done && access(files.sums.c_str(), F_OK) != 0)
    log->error(
        "{}, in which the server before this one kept what variables over time have come to and "
        "what was written once, is gone: sums and means begin anew with the next iteration, and "
        "what was written once is not in what is made of it, nor in files that are yet to begin",
        files.sums);
  Result<std::unique_ptr<Sums>> sums = SavedSums::open(model, files.sums);
  if (!sums) return sums.error();
  return std::unique_ptr<Derivation>(
      new Derivation(model, std::move(files), std::move(*sums), std::move(log)));
}

Derivation::Derivation(const model::Model& model, Files files, std::unique_ptr<Sums> sums,
                       std::shared_ptr<Log> log)
    : model_(model),
      saved_(model, std::move(files), log),
      sums_(std::move(sums)),
      wanted_(model::wanted_steps(model)),
      constants_(model),
      clock_(model, std::move(log)),
      periods_(model),
      conditions_(model),
      over_periods_(&periods_),
      values_(model),
      over_run_(&values_, memory_.get()),
      makes_any_(is_anything_made(model)) {
  has_end_ = std::any_of(model.derived_order.begin(), model.derived_order.end(),
                         [this](std::uint32_t each) { return is_told_at_end(each); });
}

DerivationWrong Derivation::add_to(Iteration* iteration) {
  DerivationWrong wrong;
  const Sums* const own = sums_.get();
  saved_.go_on_from(iteration->number, &sums_);
  if (sums_.get() != own) constants_.begin_anew(sums_.get());
  constants_.take(*iteration, sums_.get(), &wrong.problems);
  if (makes_any_) make_of(iteration, &wrong);
  iteration->constants = constants_.for_stores(sums_.get());
  iteration->took = &sums_->took();
  return wrong;
}

void Derivation::make_of(Iteration* iteration, DerivationWrong* wrong) {
  Making making(model_, &from_, iteration, wrong);
  take(*iteration);
  const TimeStep step = step_of(*iteration);
  for (std::uint32_t i = 0; i < model_.periods.size(); ++i)
    iteration->due.push_back(periods_.is_due(i, step));
  conditions_.begin();
  for (const std::uint32_t each : model_.derived_order) {
    if (wanted_[each] > 0) derive(each, step, &making);
  }
  conditions_.settle_rest(&making);
  if (has_end_) keep_parameters(*iteration, sums_.get());
  saved_.save_with_checkpoint(*iteration, *sums_);
  std::stable_sort(iteration->blocks.begin(), iteration->blocks.end(),
                   [](const Block& a, const Block& b) { return a.variable < b.variable; });
}

namespace {

// Its row is that of the end of the run.
void find_earlier_values(std::uint32_t variable, const std::vector<DerivedJob>& jobs,
                         Making* making) {
  if (making->derived(variable).operation != model::Operation::latest) return;
  std::int64_t earliest = making->iteration.number;
  for (const DerivedJob& job : jobs)
    if (job.without && job.tells) earliest = std::min(earliest, job.without->last_iteration());
  if (earliest == making->iteration.number) return;
  making->find(
      "last", variable,
      fmt::format(
          "there is a value of iteration {} in the row of the last one, {}: none came later",
          earliest, making->iteration.number));
}

}  // namespace

// Of what is told behind the last iteration that the sums have, whichever server has had that.
TimeStep Derivation::step_of_end(const ClockSlot& last,
                                 std::vector<ParameterValue>* parameters) const {
  TimeStep step;
  step.iteration = last.number.load() - 1;
  step.has_time = last.has_time != 0;
  step.time = step.before = last.time;
  step.origin = last.origin;
  step.is_end = true;
  *parameters = kept_parameters(step.iteration, sums_.get());
  if (!parameters->empty() || !step.has_time) return step;
  parameters->resize(model_.parameters.size());
  (*parameters)[model_.time->parameter] = ParameterValue(last.time);
  return step;
}

std::optional<Iteration> Derivation::end_of_run(DerivationWrong* wrong) {
  const ClockSlot(&clock)[2] = sums_->clock();
  const ClockSlot& last = clock[0].number.load() > clock[1].number.load() ? clock[0] : clock[1];
  if (last.number.load() == 0) return std::nullopt;
  Iteration end;
  const TimeStep step = step_of_end(last, &end.parameters);
  end.number = step.iteration;
  end.is_end = true;
  from_.blocks.clear();
  Making making(model_, &from_, &end, wrong);
  for (const std::uint32_t each : model_.derived_order) {
    if (is_told_at_end(each)) derive_over_time(each, step, &making);
  }
  if (end.blocks.empty()) return std::nullopt;
  end.constants = constants_.for_stores(sums_.get());
  return end;
}

std::vector<Finding> Derivation::finish() {
  saved_.save_at_end(*sums_);
  return constants_.not_had(sums_.get());
}

// What there is to make others of.
void Derivation::take(const Iteration& iteration) {
  from_.blocks.clear();
  for (const Block& each : iteration.blocks) from_.blocks[each.variable].push_back(each);
  for (const std::uint32_t each : constants_.for_others())
    from_.blocks[each] = constants_.blocks(each, sums_.get());
  from_.parameters.assign(model_.parameters.size(), std::numeric_limits<double>::quiet_NaN());
  const std::size_t known = std::min(from_.parameters.size(), iteration.parameters.size());
  for (std::size_t i = 0; i < known; ++i) {
    if (leat::is_set(iteration.parameters[i]))
      from_.parameters[i] = as_real(iteration.parameters[i]);
  }
}

TimeStep Derivation::step_of(const Iteration& iteration) {
  const double said = model_.time ? from_.parameters[model_.time->parameter]
                                  : static_cast<double>(iteration.number);
  return clock_.step_of(iteration.number, said, *sums_);
}

void Derivation::derive(std::uint32_t variable, const TimeStep& step, Making* making) {
  const model::Derived& derived = making->derived(variable);
  if (derived.is_over_time()) return derive_over_time(variable, step, making);
  if (!conditions_.is_due(derived.period, making)) return;
  if (derived.reduction && (over_run_.is_shared() || !derived.only_gathers))
    return over_run_.make(variable, making);
  make_blocks(variable, jobs_of(variable, making), making);
}

void Derivation::derive_over_time(std::uint32_t variable, const TimeStep& step, Making* making) {
  const model::Derived& derived = making->derived(variable);
  const InPeriods in = periods_.of(derived.period, step);
  if (in.is_none) return;
  std::vector<DerivedJob> jobs = jobs_of(variable, making);
  if (!jobs.empty() && derived.operation != model::Operation::latest)
    tell_lack(variable, step, in, saved_.lacks(), making);
  if (!jobs.empty() && making->is_told_elsewhere(derived.main))
    told_elsewhere_.insert(variable);
  else if (!jobs.empty())
    told_elsewhere_.erase(variable);
  over_periods_.begin(variable, step, in, over_run_.is_shared(), sums_.get(), &jobs, making);
  make_blocks(variable, std::move(jobs), making);
}

void Derivation::make_blocks(std::uint32_t variable, std::vector<DerivedJob> jobs, Making* making) {
  const model::Derived& derived = making->derived(variable);
  const bool is_told_elsewhere = making->iteration.is_end ? told_elsewhere_.count(variable) > 0
                                                          : making->is_told_elsewhere(derived.main);
  if (making->is_of_run(derived.main)) making->note_of_run(variable);
  const auto piece = make_room(variable, memory_.get(), &jobs, making);
  ValuesMade made;
  if (making->iteration.is_end) find_earlier_values(variable, jobs, making);
  for (DerivedJob& job : jobs) {
    values_.make(variable, &job, &made);
    made.periods_lost = made.periods_lost || (job.step && job.step->loses_period());
    if (!job.tells) continue;
    if (const std::optional<PeriodTold> told = job.told())
      making->add_window(derived.period, *told);
    making->add(job.block, is_told_elsewhere);
  }
  if (piece) making->pin(variable, piece);
  find_in_values(variable, made, making);
}

}  // namespace leat::server
