// SPDX-License-Identifier: Apache-2.0
#include "server/derive/derivation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/model/wanted.hpp"
#include "lib/os/clock.hpp"
#include "server/derive/coordinates.hpp"

namespace leat::server {
namespace {

BlockProblem lost_block(const Block& block, std::uint32_t variable, const std::string& what) {
  return {block.client, block.rank, variable, block.block, what, block.bytes};
}

bool happens(const Iteration& iteration, std::uint32_t event) {
  return std::any_of(iteration.signals.begin(), iteration.signals.end(),
                     [&](const Signal& each) { return each.event == event; });
}

bool is_changed(const model::Derived& derived) { return !derived.change.is_none(); }

// To what is stored.
void change(const model::Derived& derived, const double* values, std::int64_t count, double* to) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = values[i] * derived.change.scale + derived.change.offset;
}

// "(4, 5) at (0, 8)"
std::string placed_text(const Block& block, std::size_t dims) {
  std::string text = extents_text(block, dims);
  for (std::size_t d = 0; block.has_position && d < dims; ++d)
    text +=
        (d == 0 ? " at (" : ", ") + std::to_string(block.position[d]) + (d + 1 == dims ? ")" : "");
  return text;
}

}  // namespace

struct Derivation::Job {
  Block block;                     // what is made
  std::vector<ArrayInput> inputs;  // none: it has no values in this iteration
  Sum* sum = nullptr;              // of what is over time; null: it has none yet,
  Sum* old_sum = nullptr;          // and what its rank had is at another place
  std::optional<SumStep> step;
  std::optional<SumWithoutStep> without;
  bool tells = true;  // a block comes of it
};

struct Derivation::Made {
  std::int64_t not_finite = 0, too_large = 0, inexact = 0;
  bool periods_lost = false;
  std::shared_ptr<DerivedMemory::Piece> piece;
};

Result<std::unique_ptr<Derivation>> Derivation::make(const model::Model& model, Files files,
                                                     std::shared_ptr<Log> log) {
  const bool is_anything_due =
      std::any_of(model.stores.begin(), model.stores.end(),
                  [](const model::Store& each) { return each.due.has_value(); }) ||
      std::any_of(model.variables.begin(), model.variables.end(),
                  [](const model::Variable& each) { return each.period.has_value(); });
  if (model.derived_order.empty() && !is_anything_due) return std::unique_ptr<Derivation>();
  Result<std::unique_ptr<Sums>> sums = SavedSums::open(model, files.sums);
  if (!sums) return sums.error();
  return std::unique_ptr<Derivation>(
      new Derivation(model, std::move(files), std::move(*sums), std::move(log)));
}

Derivation::Derivation(const model::Model& model, Files files, std::unique_ptr<Sums> sums,
                       std::shared_ptr<Log> log)
    : model_(model),
      saved_(model, std::move(files), log),
      periods_(model),
      sums_(std::move(sums)),
      log_(std::move(log)),
      wanted_(model::wanted_steps(model)),
      inputs_(model, from_) {
  from_.parameters.resize(model.parameters.size());
  for (std::uint32_t i = 0; i < model.conditions.size(); ++i) {
    if (model.conditions[i]) conditions_.try_emplace(i, model.conditions[i]->expression);
  }
  for (const std::uint32_t each : model.derived_order) {
    const model::Derived& derived = *model.variables[each].derived;
    evaluations_.try_emplace(each, derived.expression);
    for (const model::Derived::Input& input : derived.inputs) {
      if (!input.is_parameter && !model.variables[input.number].time_varying)
        constants_wanted_.insert(input.number);
    }
    for (const std::uint32_t coordinate : model::coordinates_of(derived))
      if (!model.variables[coordinate].time_varying) constants_wanted_.insert(coordinate);
  }
  for (std::uint32_t i = 0; i < model.variables.size(); ++i) {
    const std::vector<std::uint32_t>& stores = model.variables[i].stores;
    const bool is_in_periods = std::any_of(stores.begin(), stores.end(), [&](std::uint32_t each) {
      return model.stores[each].period.has_value();
    });
    if (is_in_periods && !model.variables[i].time_varying) constants_wanted_.insert(i);
  }
}

Derivation::Wrong Derivation::add_to(Iteration* iteration) {
  Wrong wrong;
  saved_.go_on_from(iteration->number, &sums_);
  take_constants(*iteration);
  from_.blocks.clear();
  for (const Block& each : iteration->blocks) from_.blocks[each.variable].push_back(each);
  for (const std::uint32_t each : constants_wanted_) from_.blocks[each] = constants(each);
  for (std::size_t i = 0; i < from_.parameters.size(); ++i) {
    const bool has_value =
        i < iteration->parameters.size() && leat::is_set(iteration->parameters[i]);
    from_.parameters[i] =
        has_value ? as_real(iteration->parameters[i]) : std::numeric_limits<double>::quiet_NaN();
  }
  const TimeStep step = step_of(*iteration);
  told_elsewhere_.clear();
  for (std::uint32_t i = 0; i < model_.periods.size(); ++i) {
    iteration->due.push_back(periods_.is_due(i, step));
    if (model_.conditions[i]) unsettled_.insert(i);
  }
  for (const std::uint32_t each : model_.derived_order) {
    if (wanted_[each] > 0) derive(each, step, iteration, &wrong);
  }
  while (!unsettled_.empty()) settle_condition(*unsettled_.begin(), iteration);
  if (!iteration->windows.empty()) {
    for (const std::uint32_t each : constants_wanted_) {
      for (const Block& block : from_.blocks[each]) iteration->constants.push_back(block);
    }
  }
  saved_.save_with_checkpoint(*iteration, *sums_);
  std::stable_sort(iteration->blocks.begin(), iteration->blocks.end(),
                   [](const Block& a, const Block& b) { return a.variable < b.variable; });
  return wrong;
}

// In the iterations of the period in which the run goes on without them.
void Derivation::tell_lack(std::uint32_t variable, const TimeStep& step, const InPeriods& in,
                           Wrong* wrong) const {
  const std::optional<SavedSums::Lacks>& lacks = saved_.lacks();
  if (!lacks) return;
  const double begin = in.by_time ? step.origin : static_cast<double>(lacks->iteration);
  if (in.window.begin >= begin) return;
  const model::Variable& its = model_.variables[variable];
  wrong->findings.push_back(
      {"periods", variable, step.iteration,
       fmt::format("\"{}\" ({}:{}): what is over periods begins with iteration {}: {}", its.name,
                   its.where.file, its.where.line, lacks->iteration, lacks->why)});
}

void Derivation::finish() { saved_.save_at_end(*sums_); }

std::vector<Block> Derivation::constants(std::uint32_t variable) const {
  std::vector<Block> all;
  for (const Sum* const sum : sums_->all_of(variable)) {
    if (sum->head().slots[0].number.load() == 0) continue;
    all.push_back(sum->as_block());
    all.back().data = sum->array(0, 0);
    const model::Layout& layout = layout_of(variable);
    all.back().bytes = sum->head().elements * scalar_bytes(layout.type);
  }
  return all;
}

// A time that goes back, or is none, stands still: what comes until it is passed takes no time.
TimeStep Derivation::step_of(const Iteration& iteration) {
  TimeStep step;
  step.iteration = iteration.number;
  const SlotPair<ClockSlot> clock = begin_slot(sums_->clock(), iteration.number);
  const ClockSlot* const before = clock.before;
  const double said = model_.time ? from_.parameters[model_.time->parameter]
                                  : static_cast<double>(iteration.number);
  const bool knows_before = before && (before->has_time != 0 || !model_.time);
  warn_of_time(iteration.number, said, knows_before ? before : nullptr);
  const bool is_said = std::isfinite(said);
  step.has_time = model_.time && (is_said || (knows_before && before->has_time != 0));
  step.time = is_said ? said : static_cast<double>(iteration.number);
  if (step.has_time && knows_before)
    step.time = is_said ? std::max(said, before->time) : before->time;
  const double wall = static_cast<double>(os::now_ns()) / 1e9;
  if (!clock.now) return step;
  ClockSlot& now = *clock.now;
  if (!clock.is_done) {
    now.is_first = knows_before ? 0 : 1;
    now.has_time = step.has_time ? 1 : 0;
    now.time = step.time;
    now.before = knows_before ? before->time : step.time;
    now.length_before = knows_before ? before->length : 0;
    now.length = step.time - now.before;
    now.origin = knows_before ? before->origin : step.time;
    now.step = knows_before && before->step > 0 ? before->step : step.has_time ? now.length : 0;
    now.wall = wall;
    now.wall_begin = before ? before->wall_begin : wall;
    now.wall_before = before ? before->wall : wall;
    now.number.store(iteration.number + 1);
  }
  step.time = now.time;
  step.before = now.before;
  step.length_before = now.length_before;
  step.is_first = now.is_first != 0;
  step.origin = now.origin;
  step.usual = now.step;
  step.wall = now.wall - now.wall_begin;
  step.wall_before = now.wall_before - now.wall_begin;
  return step;
}

void Derivation::warn_of_time(std::int64_t iteration, double said, const ClockSlot* before) {
  if (!model_.time) return;
  if (!std::isfinite(said) && said_.insert("no time").second)
    log_->warn(
        "iteration {}: the simulation says no time, or one that is no number: the iteration takes "
        "no time, and nothing is due by it",
        iteration);
  if (std::isfinite(said) && before && said <= before->time && said_.insert("time").second)
    log_->warn(
        "iteration {}: the time {} does not come after {}: until it does iterations take no time, "
        "and have no weight in means",
        iteration, said, before->time);
}

// Beside the sums: a server that takes over is not given them again.
void Derivation::take_constants(const Iteration& iteration) {
  for (const Block& block : iteration.blocks) {
    if (constants_wanted_.count(block.variable) == 0) continue;
    const std::size_t dims = dims_of(block.variable);
    Sum* sum = sums_->own(block);
    if (!sum || !sum->is_like(block, dims)) {
      Result<Sum*> made = sums_->make(block, dims, 0, sum);
      if (!made) {
        log_->error("\"{}\" of rank {} cannot be kept for what is made of it: {}",
                    model_.variables[block.variable].name, block.rank, made.error().message);
        continue;
      }
      sum = *made;
    }
    std::copy_n(static_cast<const char*>(block.data), block.bytes,
                reinterpret_cast<char*>(sum->array(0, 0)));
    sum->head().slots[0].number.store(1);
  }
}

void Derivation::derive(std::uint32_t variable, const TimeStep& step, Iteration* iteration,
                        Wrong* wrong) {
  const model::Derived& derived = *model_.variables[variable].derived;
  if (!derived.is_over_time() && !is_due(derived, iteration)) return;
  if (derived.reduction && (reduce_ || !derived.only_gathers))
    return reduce(variable, iteration, wrong);
  const InPeriods in = derived.is_over_time() ? periods_.of(derived.period, step) : InPeriods();
  const bool is_told_elsewhere = told_elsewhere_.count(derived.main) > 0;
  if (in.is_none) return;
  std::vector<Job> jobs = jobs_of(variable, step.iteration, wrong);
  if (derived.is_over_time()) {
    if (!jobs.empty()) tell_lack(variable, step, in, wrong);
    find_sums(dims_of(variable), &jobs);
    for (Job& job : jobs) {
      std::string why;
      begin_sum(variable, of_inputs(derived, step, *iteration), &job, wrong, &why);
      if (why.empty()) continue;
      wrong->problems.push_back(lost_block(job.block, variable, why));
      job.inputs.clear();
      job.tells = false;
    }
    add_untouched(variable, step, in, &jobs);
  }
  Made made;
  made.piece = room_for(variable, &jobs, wrong);
  std::optional<Gradient> gradient;
  if (derived.along && !jobs.empty()) gradient.emplace(model_, from_, derived);
  for (Job& job : jobs) {
    gradient ? differentiate(*gradient, &job, wrong) : compute(variable, &job, &made);
    made.periods_lost = made.periods_lost || (job.step && job.step->loses_period());
    if (!job.tells) continue;
    const auto& told = job.step      ? job.step->told()
                       : job.without ? job.without->told()
                                     : std::nullopt;
    if (told) iteration->windows.try_emplace(derived.period, told->begin, told->end);
    from_.blocks[variable].push_back(job.block);
    if (is_told_elsewhere)
      told_elsewhere_.insert(variable);
    else
      iteration->blocks.push_back(job.block);
  }
  if (made.piece) iteration->pins[variable] = made.piece;
  note(variable, *iteration, made, wrong);
}

// For those that tell something; where there is none, they do not.
std::shared_ptr<DerivedMemory::Piece> Derivation::room_for(std::uint32_t variable,
                                                           std::vector<Job>* jobs, Wrong* wrong) {
  std::uint64_t bytes = 0;
  for (const Job& job : *jobs) bytes += job.tells ? round_up(job.block.bytes, kBlockAlignment) : 0;
  const bool tells_any =
      std::any_of(jobs->begin(), jobs->end(), [](const Job& job) { return job.tells; });
  if (!tells_any) return nullptr;
  Result<std::shared_ptr<DerivedMemory::Piece>> piece = memory_->take(bytes);
  std::uint64_t at = 0;
  for (Job& job : *jobs) {
    if (!job.tells) continue;
    if (!piece) {
      job.tells = false;
      wrong->problems.push_back(
          lost_block(job.block, variable, "it could not be made: " + piece.error().message));
      continue;
    }
    job.block.data = (*piece)->start + at;
    job.block.shared = piece->get();
    at += round_up(job.block.bytes, kBlockAlignment);
  }
  return piece ? std::move(*piece) : nullptr;
}

// In iterations that have something of all that it is made of.
std::vector<Derivation::Job> Derivation::jobs_of(std::uint32_t variable, std::int64_t iteration,
                                                 Wrong* wrong) {
  std::vector<Job> jobs;
  const model::Derived& derived = *model_.variables[variable].derived;
  for (const model::Derived::Input& each : derived.inputs) {
    if (!each.is_parameter && from_.blocks[each.number].empty()) return jobs;
  }
  expect_main(variable, wrong);
  std::vector<model::Selected> parts;
  if (const std::string why = select_now(model_, from_, derived, &parts); !why.empty()) {
    const model::Variable& its = model_.variables[variable];
    wrong->findings.push_back({"place", variable, iteration,
                               fmt::format("\"{}\" ({}:{}): nothing is selected: {}", its.name,
                                           its.where.file, its.where.line, why)});
    return jobs;
  }
  for (const Block& of : from_.blocks[derived.main]) {
    Job job;
    job.block = of;
    std::string why = inputs_.find(derived, of, &job.inputs);
    job.block.checksum.reset();
    job.block.lease = 0;
    job.block.file = nullptr;
    if (!parts.empty() && !inputs_.select(layout_of(derived.main), parts, &job.block, &job.inputs))
      continue;
    job.block.variable = variable;
    const model::Layout& layout = layout_of(variable);
    const std::int64_t elements =
        elements_of(job.block.extent.data(),
                    derived.reduction ? derived.is_reduced.size() : layout.dimensions.size());
    job.block.bytes = static_cast<std::uint64_t>(elements) * scalar_bytes(layout.type);
    if (why.empty()) {
      jobs.push_back(std::move(job));
    } else {
      wrong->problems.push_back(lost_block(job.block, variable, why));
    }
  }
  return jobs;
}

// Who has written what goes with it has written that, too.
void Derivation::expect_main(std::uint32_t variable, Wrong* wrong) const {
  const model::Derived& derived = *model_.variables[variable].derived;
  std::set<std::pair<std::int32_t, std::uint32_t>> there;
  for (const Block& each : from_.blocks.at(derived.main)) there.insert({each.rank, each.block});
  for (const model::Derived::Input& input : derived.inputs) {
    if (input.is_parameter || input.number == derived.main ||
        !model_.variables[input.number].time_varying ||
        dims_of(input.number) != dims_of(derived.main))
      continue;
    for (const Block& each : from_.blocks.at(input.number)) {
      if (!there.insert({each.rank, each.block}).second) continue;
      wrong->problems.push_back(
          lost_block(each, variable,
                     fmt::format("not made: rank {} has no block {} of \"{}\" in this iteration",
                                 each.rank, each.block, model_.variables[derived.main].name)));
    }
  }
}

bool Derivation::is_due(const model::Derived& derived, Iteration* iteration) {
  if (unsettled_.count(derived.period) > 0) settle_condition(derived.period, iteration);
  return iteration->due[derived.period] != 0;
}

// As late as can be: what stands in it has been made by then.
void Derivation::settle_condition(std::uint32_t period, Iteration* iteration) {
  unsettled_.erase(period);
  if (iteration->due[period] != 0 && !holds(period, *iteration)) iteration->due[period] = 0;
}

// Where something is not there, or no number, it does not hold.
bool Derivation::holds(std::uint32_t period, const Iteration& iteration) {
  static constexpr double kNo = 0, kYes = 1;
  std::vector<ArrayInput> inputs;
  for (const model::Condition::Input& each : model_.conditions[period]->inputs) {
    ArrayInput input;
    switch (each.kind) {
      case model::Condition::Kind::parameter:
        input.data = &from_.parameters[each.number];
        break;
      case model::Condition::Kind::event:
        input.data = happens(iteration, each.number) ? &kYes : &kNo;
        break;
      case model::Condition::Kind::variable:
        if (!has_blocks(each.number)) return false;
        input.data = from_.blocks[each.number][0].data;
        input.type = layout_of(each.number).type;
    }
    inputs.push_back(input);
  }
  double value = 0;
  conditions_.at(period).run(
      inputs, {}, [&](std::int64_t, const double* values, std::int64_t) { value = values[0]; });
  return value != 0 && !std::isnan(value);
}

// One server has it in its files; the others have it for what is made of it.
void Derivation::reduce(std::uint32_t variable, Iteration* iteration, Wrong* wrong) {
  const model::Derived& derived = *model_.variables[variable].derived;
  std::vector<Job> jobs;
  if (told_elsewhere_.count(derived.main) == 0) jobs = jobs_of(variable, iteration->number, wrong);
  Made made;
  const auto reducer = std::make_shared<SpaceReducer>(derived);
  Evaluation& evaluation = evaluations_.at(variable);
  for (const Job& job : jobs) {
    const std::vector<std::int64_t> extents(
        job.block.extent.begin(),
        job.block.extent.begin() + static_cast<std::ptrdiff_t>(derived.is_reduced.size()));
    const std::string why = reducer->add(job.block, [&](const Evaluation::Take& take) {
      evaluation.run(job.inputs, extents,
                     [&](std::int64_t first, const double* values, std::int64_t count) {
                       made.not_finite += evaluation.count_not_finite(values, count);
                       take(first, values, count);
                     });
      made.inexact += evaluation.inexact();
    });
    if (!why.empty()) wrong->problems.push_back(lost_block(job.block, variable, why));
  }
  const std::optional<OfRun> of_run = over_run(variable, reducer, *iteration);
  if (of_run && !of_run->columns.empty()) {
    tell_reduced(variable, *reducer, *of_run, &jobs, iteration, &made, wrong);
  } else if (!jobs.empty() && !of_run) {
    jobs[0].block.bytes = scalar_bytes(layout_of(variable).type);
    wrong->problems.push_back(lost_block(
        jobs[0].block, variable,
        "not made: what the other servers of the run have is not known, or not in time"));
  }
  note(variable, *iteration, made, wrong);
}

std::optional<Derivation::OfRun> Derivation::over_run(std::uint32_t variable,
                                                      const std::shared_ptr<SpaceReducer>& reducer,
                                                      const Iteration& iteration) {
  if (!reduce_) return OfRun{reducer->columns(0)};
  const auto place = std::find(model_.derived_order.begin(), model_.derived_order.end(), variable);
  return reduce_(iteration.number, static_cast<std::uint16_t>(place - model_.derived_order.begin()),
                 [reducer](comm::Rank self) { return reducer->columns(self); });
}

void Derivation::tell_reduced(std::uint32_t variable, const SpaceReducer& reducer,
                              const OfRun& of_run, std::vector<Job>* jobs, Iteration* iteration,
                              Made* made, Wrong* wrong) {
  const SpaceReducer::Result result = reducer.result(of_run.columns);
  if (result.server == INT64_MAX) return;
  if (result.gave < of_run.servers)
    wrong->findings.push_back(
        {"servers", variable, iteration->number,
         fmt::format("\"{}\" ({}:{}): {} of {} servers of the run have given their part",
                     model_.variables[variable].name, model_.variables[variable].where.file,
                     model_.variables[variable].where.line, result.gave, of_run.servers)});
  Block block;
  if (!jobs->empty()) block = jobs->front().block;
  block.variable = variable;
  block.block = 0;
  block.has_position = true;
  block.extent = block.position = block.global = {};
  const std::vector<std::int64_t> extents = result.extents;
  std::copy(extents.begin(), extents.end(), block.extent.begin());
  block.global = block.extent;
  const ScalarType type = layout_of(variable).type;
  block.bytes = result.values.size() * scalar_bytes(type);
  Result<std::shared_ptr<DerivedMemory::Piece>> piece =
      memory_->take(round_up(block.bytes, kBlockAlignment));
  if (!piece) {
    wrong->problems.push_back(
        lost_block(block, variable, "it could not be made: " + piece.error().message));
    return;
  }
  block.data = (*piece)->start;
  block.shared = piece->get();
  std::vector<double> values = result.values;
  const auto count = static_cast<std::int64_t>(values.size());
  const model::Derived& derived = *model_.variables[variable].derived;
  if (is_changed(derived)) change(derived, result.values.data(), count, values.data());
  made->too_large +=
      from_doubles(values.data(), count, type, const_cast<char*>((*piece)->start), 0);
  from_.blocks[variable].push_back(block);
  iteration->pins[variable] = *piece;
  if (result.server == of_run.self)
    iteration->blocks.push_back(block);
  else
    told_elsewhere_.insert(variable);
}

// Of what is over periods itself the first value stands for its period.
TimeStep Derivation::of_inputs(const model::Derived& derived, TimeStep step,
                               const Iteration& iteration) const {
  for (const model::Derived::Input& each : derived.inputs) {
    if (each.is_parameter || !model_.variables[each.number].derived) continue;
    const model::Derived& its = *model_.variables[each.number].derived;
    const auto window = iteration.windows.find(its.period);
    if (!its.is_over_time() || window == iteration.windows.end() || !step.has_time) continue;
    step.before = std::min(step.before, window->second.first);
    step.is_first = false;
  }
  return step;
}

// The first step of the run is 1. Times are sums, and rounded: steps that differ by no more than that are alike.
double Derivation::weight_of(const TimeStep& step) const {
  if (!step.has_time || step.is_first) return 1;
  const double own = step.time - step.before;
  if (own <= 0 || step.usual <= 0) return own > 0 ? 1 : 0;
  const double rounding = 8 * std::numeric_limits<double>::epsilon() *
                          std::max(std::fabs(step.time), std::fabs(step.before));
  return std::fabs(own - step.usual) <= rounding ? 1 : own / step.usual;
}

// What is at a place goes on there, also when another rank has it now, as with a place that moves. Where several ranks have the same
// place each goes on with its own.
void Derivation::find_sums(std::size_t dims, std::vector<Job>* jobs) {
  std::set<Sum*> taken;
  const auto take = [&](Job* job, Sum* sum) {
    job->sum = sum;
    if (sum) taken.insert(sum);
  };
  for (Job& job : *jobs) take(&job, sums_->own(job.block, dims));
  for (Job& job : *jobs)
    if (!job.sum) take(&job, sums_->at_place(job.block, dims, taken));
  for (Job& job : *jobs) {
    Sum* const old = sums_->own(job.block);
    if (!job.sum && taken.count(old) == 0) job.old_sum = old;
  }
}

// "" or why there is none.
std::string Derivation::make_sum(std::uint32_t variable, const TimeStep& step, const InPeriods& in,
                                 Job* job, Wrong* wrong) {
  const model::Derived& derived = *model_.variables[variable].derived;
  const std::size_t dims = dims_of(variable);
  const Block& block = job->block;
  const std::string& name = model_.variables[variable].name;
  std::string text;
  if (job->old_sum)
    text = fmt::format(
        "its blocks were {} and are {} in iteration {}: what is over time begins anew with them",
        placed_text(job->old_sum->as_block(), dims), placed_text(block, dims), step.iteration);
  const bool may_be_elsewhere = reduce_ && dims == 0 && layout_of(variable).has_global;
  if (may_be_elsewhere && !step.is_first &&
      in.window.begin < (in.by_time ? step.before : static_cast<double>(step.iteration)))
    text = fmt::format(
        "this server has it from iteration {} on: what is over the period lacks what others had "
        "before",
        step.iteration);
  if (!text.empty() && said_.insert(fmt::format("{} begins anew", variable)).second)
    wrong->findings.push_back({"periods", variable, step.iteration,
                               fmt::format("\"{}\" of rank {}: {}", name, block.rank, text)});
  Result<Sum*> made = sums_->make(block, dims, arrays_of(derived.operation), job->old_sum);
  if (!made) return "not made: " + made.error().message;
  job->sum = *made;
  return "";
}

void Derivation::begin_sum(std::uint32_t variable, TimeStep step, Job* job, Wrong* wrong,
                           std::string* why) {
  const model::Derived& derived = *model_.variables[variable].derived;
  if (!job->sum) *why = make_sum(variable, step, periods_.of(derived.period, step), job, wrong);
  if (!why->empty()) return;
  Sum* const sum = job->sum;
  // A value stands for the time since the last one of this variable, be that some iterations ago.
  if (const std::optional<double> last = last_time(*sum, step.iteration)) {
    step.before = *last;
    step.is_first = false;
  }
  const InPeriods in = periods_.of(derived.period, step);
  if (in.is_none) {
    job->tells = false;
    job->inputs.clear();
    return;
  }
  job->step.emplace(derived.operation, *sum, step, in, weight_of(step));
  job->tells = job->step->told().has_value();
  if (!job->step->is_past()) return;
  // It is in the sums; only where a period is over with it something is missing.
  if (in.is_over || in.ended)
    *why = "not made: the server that died had gone on with what it is made of";
  job->tells = false;
  job->inputs.clear();
}

void Derivation::add_untouched(std::uint32_t variable, const TimeStep& step, const InPeriods& in,
                               std::vector<Job>* jobs) {
  const model::Derived& derived = *model_.variables[variable].derived;
  const model::Layout& layout = layout_of(variable);
  std::set<const Sum*> touched;
  for (const Job& job : *jobs) touched.insert(job.sum);
  for (Sum* const sum : sums_->all_of(variable)) {
    if (touched.count(sum) > 0) continue;
    Job job;
    job.block = sum->as_block();
    job.block.bytes = sum->head().elements * scalar_bytes(layout.type);
    job.without.emplace(derived.operation, *sum, step, in);
    job.tells = job.without->told().has_value();
    if (job.tells) jobs->push_back(std::move(job));
  }
}

void Derivation::compute(std::uint32_t variable, Job* job, Made* made) {
  const model::Layout& layout = layout_of(variable);
  char* const to =
      job->tells ? const_cast<char*>(static_cast<const char*>(job->block.data)) : nullptr;
  const std::vector<std::int64_t> extents(
      job->block.extent.begin(),
      job->block.extent.begin() + static_cast<std::ptrdiff_t>(layout.dimensions.size()));
  const model::Derived& derived = *model_.variables[variable].derived;
  double result[Evaluation::kAtOnce];
  const auto put = [&](const double* values, std::int64_t first, std::int64_t count) {
    if (is_changed(derived)) {
      change(derived, values, count, result);
      values = result;
    }
    made->too_large += from_doubles(values, count, layout.type, to, first);
  };
  if (job->without) {
    const std::int64_t all = elements_of(extents.data(), extents.size());
    for (std::int64_t first = 0; first < all; first += Evaluation::kAtOnce) {
      const std::int64_t count = std::min(Evaluation::kAtOnce, all - first);
      job->without->result(first, count, result);
      put(result, first, count);
    }
    return;
  }
  if (job->inputs.empty()) return;
  const ArrayInput& only = job->inputs[0];
  const bool is_copy = !job->step && !is_changed(derived) && derived.expression.is_name() &&
                       only.type == layout.type;
  if (is_copy) return copy_elements(only, extents, to);
  Evaluation& evaluation = evaluations_.at(variable);
  evaluation.run(job->inputs, extents,
                 [&](std::int64_t first, const double* values, std::int64_t count) {
                   made->not_finite += evaluation.count_not_finite(values, count);
                   if (job->step) job->step->add(first, values, count, to ? result : nullptr);
                   if (to) put(job->step ? result : values, first, count);
                 });
  made->inexact += evaluation.inexact();
  if (job->step) job->step->finish();
}

// Of a block that is as it was written, to doubles.
void Derivation::differentiate(const Gradient& gradient, Job* job, Wrong* wrong) {
  if (!job->tells) return;
  const std::uint32_t variable = job->block.variable;
  const std::vector<Block>& all = from_.blocks.at(model_.variables[variable].derived->main);
  const auto of = std::find_if(all.begin(), all.end(), [&](const Block& each) {
    return each.rank == job->block.rank && each.block == job->block.block;
  });
  const std::vector<std::int64_t> extents(
      job->block.extent.begin(),
      job->block.extent.begin() + static_cast<std::ptrdiff_t>(dims_of(variable)));
  std::vector<double> values(job->block.bytes / sizeof(double));
  evaluations_.at(variable).run(job->inputs, extents,
                                [&](std::int64_t first, const double* some, std::int64_t count) {
                                  std::copy_n(some, count, values.begin() + first);
                                });
  auto* const to = static_cast<double*>(const_cast<void*>(job->block.data));
  const std::string why = gradient.compute(*of, values.data(), to);
  if (why.empty()) return;
  wrong->problems.push_back(lost_block(job->block, variable, why));
  job->tells = false;
}

void Derivation::note(std::uint32_t variable, const Iteration& iteration, const Made& made,
                      Wrong* wrong) const {
  const model::Variable& its = model_.variables[variable];
  const auto find = [&](const char* what, const std::string& text) {
    wrong->findings.push_back(
        {what, variable, iteration.number,
         fmt::format("\"{}\" ({}:{}): {}", its.name, its.where.file, its.where.line, text)});
  };
  const auto values = [](std::int64_t count) {
    return counted(static_cast<std::uint64_t>(count), "value");
  };
  for (const model::Derived::Input& each : its.derived->inputs) {
    if (each.is_parameter && std::isnan(from_.parameters[each.number]) &&
        has_blocks(its.derived->main))
      find("no value",
           fmt::format(
               "the parameter \"{}\" in expr=\"{}\" has no value: all that is made of it is NaN",
               model_.parameters[each.number].name, its.derived->expression.text));
  }
  const ScalarType type = model_.layouts[its.layout].type;
  if (made.not_finite > 0)
    find("not finite",
         fmt::format("{} infinite or no number, though all in expr=\"{}\" is finite there",
                     values(made.not_finite), its.derived->expression.text));
  if (made.too_large > 0)
    find("too large",
         fmt::format("{} beyond what {} can have: {} in its place", values(made.too_large),
                     scalar_name(type),
                     type == ScalarType::float32 ? "an infinity is" : "the missing value is"));
  if (made.inexact > 0)
    find("inexact",
         fmt::format(
             "{} of 64-bit integers beyond 2^53 in expr=\"{}\" are taken as the nearest double",
             values(made.inexact), its.derived->expression.text));
  if (made.periods_lost)
    find("periods",
         "a step of the time goes over more than one period of every: those in between, and what "
         "ends in the same "
         "iteration as a later one, have no row");
}

}  // namespace leat::server
