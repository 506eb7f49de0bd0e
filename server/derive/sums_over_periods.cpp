// SPDX-License-Identifier: Apache-2.0
#include "server/derive/sums_over_periods.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "server/derive/run_clock.hpp"

namespace leat::server {
namespace {

// "(4, 5) at (0, 8)"
std::string placed_text(const Block& block, std::size_t dims) {
  std::string text = extents_text(block, dims);
  for (std::size_t d = 0; block.has_position && d < dims; ++d)
    text +=
        (d == 0 ? " at (" : ", ") + std::to_string(block.position[d]) + (d + 1 == dims ? ")" : "");
  return text;
}

// Of what is over periods itself the first value stands for its period.
TimeStep step_of_inputs(const model::Derived& derived, TimeStep step, const Making& making) {
  for (const model::Derived::Input& each : derived.inputs) {
    if (each.is_parameter || !making.variable(each.number).derived) continue;
    const model::Derived& its = making.derived(each.number);
    const auto window = making.iteration.windows.find(its.period);
    if (!its.is_over_time() || window == making.iteration.windows.end() || !step.has_time) continue;
    step.before = std::min(step.before, window->second.first);
    step.is_first = false;
  }
  return step;
}

void add_untouched(std::uint32_t variable, const TimeStep& step, const InPeriods& in, Sums* sums,
                   std::vector<DerivedJob>* jobs, const Making& making) {
  std::set<const Sum*> touched;
  for (const DerivedJob& job : *jobs) touched.insert(job.sum);
  for (Sum* const sum : sums->all_of(variable)) {
    if (touched.count(sum) > 0) continue;
    DerivedJob job;
    job.block = sum->as_block();
    job.block.bytes = sum->head().elements * scalar_bytes(making.layout_of(variable).type);
    job.without.emplace(making.derived(variable).operation, *sum, step, in);
    job.tells = job.without->told().has_value();
    if (job.tells) jobs->push_back(std::move(job));
  }
}

// Where several ranks have the same place each goes on with its own.
void find_sums(std::size_t dims, Sums* sums, std::vector<DerivedJob>* jobs) {
  std::set<Sum*> taken;
  const auto take = [&](DerivedJob* job, Sum* sum) {
    job->sum = sum;
    if (sum) taken.insert(sum);
  };
  for (DerivedJob& job : *jobs) take(&job, sums->own(job.block, dims));
  for (DerivedJob& job : *jobs)
    if (!job.sum) take(&job, sums->at_place(job.block, dims, taken));
  for (DerivedJob& job : *jobs) {
    Sum* const old = sums->own(job.block);
    if (!job.sum && taken.count(old) == 0) job.old_sum = old;
  }
}

}  // namespace

void SumsOverPeriods::begin(std::uint32_t variable, const TimeStep& step, const InPeriods& in,
                            bool is_shared, Sums* sums, std::vector<DerivedJob>* jobs,
                            Making* making) {
  const TimeStep of_inputs = step_of_inputs(making->derived(variable), step, *making);
  find_sums(making->dims_of(variable), sums, jobs);
  for (DerivedJob& job : *jobs) {
    const std::string why = begin_job(variable, of_inputs, is_shared, sums, &job, making);
    if (why.empty()) continue;
    making->lose(job.block, variable, why);
    job.drop();
  }
  add_untouched(variable, step, in, sums, jobs, *making);
}

// "", or why nothing can be made of it.
std::string SumsOverPeriods::begin_job(std::uint32_t variable, TimeStep step, bool is_shared,
                                       Sums* sums, DerivedJob* job, Making* making) {
  const model::Derived& derived = making->derived(variable);
  if (!job->sum) {
    const std::string why = make_sum(variable, step, is_shared, sums, job, making);
    if (!why.empty()) return why;
  }
  Sum* const sum = job->sum;
  // A value stands for the time since the last one of this variable, be that some iterations ago.
  if (const std::optional<double> last = last_time(*sum, step.iteration)) {
    step.before = *last;
    step.is_first = false;
  }
  const InPeriods in = periods_.of(derived.period, step);
  if (in.is_none) {
    job->drop();
    return "";
  }
  job->step.emplace(derived.operation, *sum, step, in, weight_of(step));
  job->tells = job->step->told().has_value();
  if (!job->step->is_past()) return "";
  // It is in the sums; only where a period is over with it something is missing.
  job->drop();
  const bool is_missing = in.is_over || in.ended;
  return is_missing ? "not made: the server that died had gone on with what it is made of" : "";
}

// "" or why there is none. A single value of the whole array may have been another server's before.
std::string SumsOverPeriods::make_sum(std::uint32_t variable, const TimeStep& step, bool is_shared,
                                      Sums* sums, DerivedJob* job, Making* making) {
  const std::size_t dims = making->dims_of(variable);
  const Block& block = job->block;
  const InPeriods in = periods_.of(making->derived(variable).period, step);
  const double begin = in.by_time ? step.before : static_cast<double>(step.iteration);
  const bool may_move =
      is_shared && dims == 0 && !making->is_of_run(making->derived(variable).main);
  const bool was_elsewhere = may_move && making->layout_of(variable).has_global && !step.is_first &&
                             in.window.begin < begin;
  std::string text;
  if (job->old_sum)
    text = fmt::format(
        "its blocks were {} and are {} in iteration {}: what is over time begins anew with them",
        placed_text(job->old_sum->as_block(), dims), placed_text(block, dims),
        making->iteration.number);
  if (was_elsewhere)
    text = fmt::format(
        "the value has been on this server only since iteration {}: its period lacks what others "
        "had "
        "before",
        making->iteration.number);
  if (!text.empty() && told_.insert(variable).second)
    making->find("periods", variable, fmt::format("on rank {} {}", block.rank, text));
  Result<Sum*> made =
      sums->make(block, dims, arrays_of(making->derived(variable).operation), job->old_sum);
  if (!made) return "not made: " + made.error().message;
  job->sum = *made;
  return "";
}

void tell_lack(std::uint32_t variable, const TimeStep& step, const InPeriods& in,
               const std::optional<SavedSums::Lacks>& lacks, Making* making) {
  if (!lacks) return;
  const double begin = in.by_time ? step.origin : static_cast<double>(lacks->iteration);
  if (in.window.begin >= begin) return;
  making->find("periods", variable,
               fmt::format("what is over periods begins with iteration {}: {}", lacks->iteration,
                           lacks->why));
}

}  // namespace leat::server
