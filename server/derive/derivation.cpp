// SPDX-License-Identifier: Apache-2.0
#include "server/derive/derivation.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/model/wanted.hpp"
#include "lib/model/words.hpp"
#include "lib/os/clock.hpp"

namespace leat::server {
namespace {

std::string extents_text(const Block& block, std::size_t dims) {
  std::string text;
  for (std::size_t d = 0; d < dims; ++d) text += (d ? ", " : "") + std::to_string(block.extent[d]);
  return "(" + text + ")";
}

bool has_same_extents(const Block& a, const Block& b, std::size_t dims) {
  return std::equal(a.extent.begin(), a.extent.begin() + static_cast<std::ptrdiff_t>(dims),
                    b.extent.begin());
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

// Sums are of these: others begin anew.
std::string definitions_of(const model::Model& model) {
  std::string text;
  for (const std::uint32_t each : model.derived_order) {
    const model::Variable& variable = model.variables[each];
    text += fmt::format("{} {} {} {}\n", variable.name, variable.derived->expression.text,
                        model::word_of(variable.derived->operation),
                        to_text(model.periods[variable.derived->period]));
  }
  for (const model::Variable& each : model.variables) text += each.name + "\n";  // their numbers
  return text;
}

std::size_t checkpoints_kept(const model::Store& store) {
  return static_cast<std::size_t>(
      std::max(1L, std::strtol(store.option("keep", "2").c_str(), nullptr, 10)));
}

}  // namespace

struct Derivation::Job {
  Block block;                     // what is made
  std::vector<ArrayInput> inputs;  // none: it has no values in this iteration
  std::optional<SumStep> step;
  std::optional<SumWithoutStep> without;
  bool tells = true;  // a block comes of it
};

struct Derivation::Made {
  std::int64_t not_finite = 0, too_large = 0;
  bool periods_lost = false;
  std::shared_ptr<DerivedMemory::Piece> piece;
};

Result<std::unique_ptr<Derivation>> Derivation::make(const model::Model& model, Files files,
                                                     std::shared_ptr<Log> log) {
  const bool is_due_by_time =
      std::any_of(model.stores.begin(), model.stores.end(),
                  [](const model::Store& each) { return each.due.has_value(); });
  if (model.derived_order.empty() && !is_due_by_time) return std::unique_ptr<Derivation>();
  Result<std::unique_ptr<Sums>> sums = Sums::open(files.sums, fnv1a(definitions_of(model)));
  if (!sums) return sums.error();
  return std::unique_ptr<Derivation>(
      new Derivation(model, std::move(files), std::move(*sums), std::move(log)));
}

Derivation::Derivation(const model::Model& model, Files files, std::unique_ptr<Sums> sums,
                       std::shared_ptr<Log> log)
    : model_(model),
      files_(std::move(files)),
      is_begun_(files_.is_resumed),
      periods_(model),
      sums_(std::move(sums)),
      log_(std::move(log)),
      wanted_(model::wanted_steps(model)),
      parameters_(model.parameters.size()) {
  for (const std::uint32_t each : model.derived_order) {
    const model::Derived& derived = *model.variables[each].derived;
    evaluations_.try_emplace(each, derived.expression);
    for (const model::Derived::Input& input : derived.inputs) {
      if (!input.is_parameter && !model.variables[input.number].time_varying)
        constants_wanted_.insert(input.number);
    }
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
  if (!std::exchange(is_begun_, true)) go_on_from(iteration->number);
  take_constants(*iteration);
  blocks_.clear();
  for (const Block& each : iteration->blocks) blocks_[each.variable].push_back(each);
  for (const std::uint32_t each : constants_wanted_) blocks_[each] = constants(each);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const bool has_value =
        i < iteration->parameters.size() && leat::is_set(iteration->parameters[i]);
    parameters_[i] =
        has_value ? as_real(iteration->parameters[i]) : std::numeric_limits<double>::quiet_NaN();
  }
  const TimeStep step = step_of(*iteration);
  for (std::uint32_t i = 0; i < model_.periods.size(); ++i)
    iteration->due.push_back(periods_.is_due(i, step));
  for (const std::uint32_t each : model_.derived_order) {
    if (wanted_[each] > 0) derive(each, step, iteration, &wrong);
  }
  if (!iteration->windows.empty()) {
    for (const std::uint32_t each : constants_wanted_) {
      for (const Block& block : blocks_[each]) iteration->constants.push_back(block);
    }
  }
  save_with_checkpoint(*iteration);
  std::stable_sort(iteration->blocks.begin(), iteration->blocks.end(),
                   [](const Block& a, const Block& b) { return a.variable < b.variable; });
  return wrong;
}

// What an earlier run has kept is for the iteration behind it alone.
void Derivation::go_on_from(std::int64_t iteration) {
  if (files_.saved.empty()) return;
  std::string other;
  for (const std::string& file : {saved_at(iteration - 1), files_.saved + ".sums"}) {
    if (access(file.c_str(), F_OK) != 0) continue;
    const std::string why = take_saved(file);
    const std::int64_t last = sums_->last_iteration();
    if (why.empty() && last == iteration - 1)
      return log_->info("what is over periods goes on behind iteration {}, as {} has it", last,
                        file);
    other += (other.empty() ? "" : "; ") +
             (why.empty()
                  ? fmt::format("{} has what it had come to at the end of iteration {}", file, last)
                  : fmt::format("{} cannot be taken: {}", file, why));
    sums_->clear();
  }
  if (iteration > 0 && !other.empty())
    log_->warn("what is over periods begins with iteration {}: {}", iteration, other);
}

std::string Derivation::take_saved(const std::string& file) {
  if (std::string why = Sums::restore(file, files_.sums); !why.empty()) return why;
  Result<std::unique_ptr<Sums>> sums = Sums::open(files_.sums, fnv1a(definitions_of(model_)));
  if (!sums) return sums.error().message;
  sums_ = std::move(*sums);
  return "";
}

std::string Derivation::saved_at(std::int64_t iteration) const {
  return fmt::format("{}-{}.sums", files_.saved, iteration);
}

void Derivation::save(const std::string& file) const {
  if (const std::string why = sums_->save(file); !why.empty())
    log_->warn(
        "{}: what is over periods that have yet to end is not kept for a run that goes on: {}",
        file, why);
}

void Derivation::finish() {
  if (!files_.saved.empty() && sums_->last_iteration() >= 0) save(files_.saved + ".sums");
}

// With each checkpoint: a run may go on from it. As many stay as of those.
void Derivation::save_with_checkpoint(const Iteration& iteration) {
  if (files_.saved.empty()) return;
  std::size_t keep = 0;
  for (const Block& block : iteration.blocks) {
    for (const std::uint32_t each : model_.variables[block.variable].stores) {
      const model::Store& store = model_.stores[each];
      if (is_checkpoint(store)) keep = std::max(keep, checkpoints_kept(store));
    }
  }
  if (keep == 0) return;
  save(saved_at(iteration.number));
  saved_.push_back(iteration.number);
  while (saved_.size() > keep) {
    unlink(saved_at(saved_.front()).c_str());
    saved_.erase(saved_.begin());
  }
}

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
  const double said =
      model_.time ? parameters_[model_.time->parameter] : static_cast<double>(iteration.number);
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
    Sum* sum = sums_->find(block.variable, block.rank, block.block);
    if (!sum || !sum->is_like(block, dims)) {
      Result<Sum*> made = sums_->make(block, dims, 0);
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
  if (!derived.is_over_time() && iteration->due[derived.period] == 0) return;
  const InPeriods in = derived.is_over_time() ? periods_.of(derived.period, step) : InPeriods();
  if (in.is_none) return;
  std::vector<Job> jobs = jobs_of(variable, wrong);
  if (derived.is_over_time()) {
    for (Job& job : jobs) {
      std::string why;
      begin_sum(variable, of_inputs(derived, step, *iteration), &job, &why);
      if (why.empty()) continue;
      wrong->problems.push_back(
          {job.block.client, job.block.rank, variable, job.block.block, why, job.block.bytes});
      job.inputs.clear();
      job.tells = false;
    }
    if (!in.is_none) add_untouched(variable, step, in, &jobs);
  }
  std::uint64_t bytes = 0;
  for (const Job& job : jobs) bytes += job.tells ? round_up(job.block.bytes, kBlockAlignment) : 0;
  Made made;
  const bool tells_any =
      std::any_of(jobs.begin(), jobs.end(), [](const Job& job) { return job.tells; });
  if (tells_any) {
    Result<std::shared_ptr<DerivedMemory::Piece>> piece = memory_->take(bytes);
    if (!piece) {
      for (Job& job : jobs) {
        if (std::exchange(job.tells, false))
          wrong->problems.push_back({job.block.client, job.block.rank, variable, job.block.block,
                                     "it could not be made: " + piece.error().message,
                                     job.block.bytes});
      }
    } else {
      made.piece = std::move(*piece);
    }
  }
  std::uint64_t at = 0;
  for (Job& job : jobs) {
    if (job.tells) {
      job.block.data = made.piece->start + at;
      job.block.shared = made.piece.get();
      at += round_up(job.block.bytes, kBlockAlignment);
    }
    compute(variable, &job, &made);
    made.periods_lost = made.periods_lost || (job.step && job.step->loses_period());
    if (!job.tells) continue;
    const auto& told = job.step      ? job.step->told()
                       : job.without ? job.without->told()
                                     : std::nullopt;
    if (told) iteration->windows.try_emplace(derived.period, told->begin, told->end);
    iteration->blocks.push_back(job.block);
    blocks_[variable].push_back(job.block);
  }
  if (made.piece) iteration->pins[variable] = made.piece;
  note(variable, *iteration, made, wrong);
}

// In iterations that have something of all that it is made of.
std::vector<Derivation::Job> Derivation::jobs_of(std::uint32_t variable, Wrong* wrong) {
  std::vector<Job> jobs;
  const model::Derived& derived = *model_.variables[variable].derived;
  for (const model::Derived::Input& each : derived.inputs) {
    if (!each.is_parameter && blocks_[each.number].empty()) return jobs;
  }
  expect_main(variable, wrong);
  for (const Block& of : blocks_[derived.main]) {
    Job job;
    job.block = of;
    std::string why = find_inputs(derived, of, &job.inputs);
    job.block.checksum.reset();
    job.block.lease = 0;
    job.block.file = nullptr;
    if (!derived.selection.empty() && !select(variable, &job)) continue;
    job.block.variable = variable;
    const model::Layout& layout = layout_of(variable);
    const std::int64_t elements = elements_of(job.block.extent.data(), layout.dimensions.size());
    job.block.bytes = static_cast<std::uint64_t>(elements) * scalar_bytes(layout.type);
    if (why.empty()) {
      jobs.push_back(std::move(job));
    } else {
      wrong->problems.push_back({of.client, of.rank, variable, of.block, why, job.block.bytes});
    }
  }
  return jobs;
}

// Who has written what goes with it has written that, too.
void Derivation::expect_main(std::uint32_t variable, Wrong* wrong) const {
  const model::Derived& derived = *model_.variables[variable].derived;
  std::set<std::pair<std::int32_t, std::uint32_t>> there;
  for (const Block& each : blocks_.at(derived.main)) there.insert({each.rank, each.block});
  for (const model::Derived::Input& input : derived.inputs) {
    if (input.is_parameter || input.number == derived.main ||
        !model_.variables[input.number].time_varying ||
        dims_of(input.number) != dims_of(derived.main))
      continue;
    for (const Block& each : blocks_.at(input.number)) {
      if (!there.insert({each.rank, each.block}).second) continue;
      wrong->problems.push_back(
          {each.client, each.rank, variable, each.block,
           fmt::format("not made: rank {} has no block {} of \"{}\" in this iteration", each.rank,
                       each.block, model_.variables[derived.main].name),
           each.bytes});
    }
  }
}

// "" or why they are not there.
std::string Derivation::find_inputs(const model::Derived& derived, const Block& of,
                                    std::vector<ArrayInput>* inputs) {
  for (const model::Derived::Input& each : derived.inputs) {
    ArrayInput input;
    std::string why;
    if (each.is_parameter) {
      input.data = &parameters_[each.number];
    } else {
      why = take_input(of, each.number, &input);
    }
    if (!why.empty()) return why;
    inputs->push_back(input);
  }
  return "";
}

// Makes of the whole block, and of what is taken of each input, the part that is kept. False when nothing of it lies there.
bool Derivation::select(std::uint32_t variable, Job* job) const {
  const model::Derived& derived = *model_.variables[variable].derived;
  const model::Layout& whole = layout_of(derived.main);
  const Block of = job->block;
  job->block.extent = job->block.position = job->block.global = {};
  std::size_t kept = 0;
  std::array<std::array<std::int64_t, kMaxDims>, 2>
      taken{};  // of each dimension of the whole: the first element, and from one to the next
  std::array<std::size_t, kMaxDims> place{};
  for (std::size_t d = 0; d < whole.dimensions.size(); ++d) {
    const model::Selected& part = derived.selection[d];
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
    job->block.extent[kept] = (end - first + part.step - 1) / part.step;
    job->block.position[kept] = of.has_position ? number : 0;
    if (of.has_position) {
      const std::int64_t last = std::min(of.global[d], part.end.value_or(INT64_MAX));
      job->block.global[kept] =
          std::max<std::int64_t>(0, (last - part.first + part.step - 1) / part.step);
    }
    ++kept;
  }
  if (kept == 0) job->block.has_position = false;
  for (ArrayInput& input : job->inputs) {
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
const Block* Derivation::block_like(const Block& own, std::uint32_t variable) const {
  const auto found = blocks_.find(variable);
  if (found == blocks_.end()) return nullptr;
  const Block* best = nullptr;
  int how_good = 0;
  const std::size_t dims = dims_of(variable), own_dims = dims_of(own.variable);
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

std::string Derivation::take_input(const Block& own, std::uint32_t number,
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
  if (its_dims == dims) {
    input->is_like_result = true;
    return has_same_extents(own, *block, dims) ? "" : do_not_fit();
  }
  const std::array<std::int64_t, kMaxDims> its_steps = steps_in_order(*block, its_dims);
  std::int64_t first = 0;
  for (std::size_t e = 0; e < its_dims; ++e) {
    std::size_t d = 0;
    while (d < dims && layout.dimensions[d].name != its.dimensions[e].name) ++d;
    if (d == dims) return do_not_fit();
    // Its part of the whole, where it has more than this block.
    const std::int64_t shift =
        own.has_position && block->has_position ? own.position[d] - block->position[e] : 0;
    if (shift < 0 || shift + own.extent[d] > block->extent[e] ||
        (shift == 0 && !block->has_position && own.extent[d] != block->extent[e]))
      return do_not_fit();
    first += shift * its_steps[e];
    input->steps[d] = its_steps[e];
  }
  input->data = static_cast<const char*>(block->data) +
                first * static_cast<std::int64_t>(scalar_bytes(its.type));
  return "";
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

void Derivation::begin_sum(std::uint32_t variable, TimeStep step, Job* job, std::string* why) {
  const model::Derived& derived = *model_.variables[variable].derived;
  const std::size_t dims = dims_of(variable);
  const Block& block = job->block;
  Sum* sum = sums_->find(variable, block.rank, block.block);
  if (sum && !sum->is_like(block, dims)) {
    const std::string key = fmt::format("{} {} {}", variable, block.rank, block.block);
    if (said_.insert(key).second)
      log_->warn(
          "\"{}\" of rank {}: its blocks were {} and are {} in iteration {}: what is over time "
          "begins anew",
          model_.variables[variable].name, block.rank, extents_text(sum->as_block(), dims),
          extents_text(block, dims), step.iteration);
    sum = nullptr;
  }
  if (!sum) {
    Result<Sum*> made = sums_->make(block, dims, arrays_of(derived.operation));
    if (!made) {
      *why = "not made: " + made.error().message;
      return;
    }
    sum = *made;
  }
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
  if (job->step->is_past())
    *why = "not made: the server that died had gone on with what it is made of";
}

void Derivation::add_untouched(std::uint32_t variable, const TimeStep& step, const InPeriods& in,
                               std::vector<Job>* jobs) {
  const model::Derived& derived = *model_.variables[variable].derived;
  const model::Layout& layout = layout_of(variable);
  std::set<std::pair<std::int32_t, std::uint32_t>> touched;
  for (const Job& job : *jobs) touched.insert({job.block.rank, job.block.block});
  for (Sum* const sum : sums_->all_of(variable)) {
    if (touched.count({sum->head().rank, sum->head().block}) > 0) continue;
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
  const model::UnitChange& change = model_.variables[variable].derived->change;
  double result[Evaluation::kAtOnce];
  const auto put = [&](const double* values, std::int64_t first, std::int64_t count) {
    if (!change.is_none()) {
      for (std::int64_t k = 0; k < count; ++k) result[k] = values[k] * change.scale + change.offset;
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
  const bool is_copy = !job->step && change.is_none() &&
                       model_.variables[variable].derived->expression.is_name() &&
                       only.is_like_result && only.type == layout.type;
  if (is_copy) {
    std::copy_n(static_cast<const char*>(only.data), job->block.bytes, to);
    return;
  }
  Evaluation& evaluation = evaluations_.at(variable);
  evaluation.run(job->inputs, extents,
                 [&](std::int64_t first, const double* values, std::int64_t count) {
                   made->not_finite += evaluation.count_not_finite(values, count);
                   if (job->step) job->step->add(first, values, count, to ? result : nullptr);
                   if (to) put(job->step ? result : values, first, count);
                 });
  if (job->step) job->step->finish();
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
    if (each.is_parameter && std::isnan(parameters_[each.number]) &&
        !blocks_.at(its.derived->main).empty())
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
  if (made.periods_lost)
    find("periods",
         "a step of the time goes over more than one period of every: those in between, and what "
         "ends in the same "
         "iteration as a later one, have no row");
}

}  // namespace leat::server
