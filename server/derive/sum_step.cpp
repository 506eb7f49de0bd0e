// SPDX-License-Identifier: Apache-2.0
#include "server/derive/sum_step.hpp"

#include <algorithm>

#include "server/derive/evaluation.hpp"

namespace leat::server {
namespace {

using model::Operation;

bool is_weighted(Operation operation) {
  return operation == Operation::mean || operation == Operation::variance;
}

bool holds_values(const SumSlot* slot) { return slot && slot->count > 0 && slot->is_whole == 0; }

PeriodTold told_of(const SumSlot& slot) { return {slot.since, slot.until}; }

// The later of the slots that are not of this iteration or beyond; -1 for none.
int last_before(const Sum& sum, std::int64_t iteration) {
  int found = -1;
  std::int64_t latest = 0;
  for (int i = 0; i < 2; ++i) {
    const std::int64_t number = sum.head().slots[i].number.load();
    if (number <= latest || number > iteration) continue;
    found = i;
    latest = number;
  }
  return found;
}

SumPart part_of(const Sum& sum, Operation operation, int slot, std::int64_t first) {
  SumPart part;
  part.values = sum.array(slot, 0) + first;
  if (arrays_of(operation) > 1) part.squares = sum.array(slot, 1) + first;
  return part;
}

}  // namespace

SumStep::SumStep(Operation operation, Sum& sum, const TimeStep& step, const InPeriods& in,
                 double weight)
    : operation_(operation),
      sum_(sum),
      step_(step),
      in_(in),
      weight_(is_weighted(operation) ? weight : 1) {
  slots_ = begin_slot(sum.head().slots, step.iteration);
  // What came before is gone: this iteration is in the sum, and is not added again.
  if (slots_.is_done && slots_.now->is_whole != 0) told_ = told_of(*slots_.now);
  if (!slots_.now || slots_.is_done) return;
  if (in_.by_time && step.time <= step.before) stay_in_period();
  plan();
}

// A step of no time ends nothing: behind the end of a period it is in the next one.
void SumStep::stay_in_period() noexcept {
  if (holds_values(slots_.before))
    in_.window.begin = slots_.before->window;
  else if (in_.is_over)
    in_.window.begin = in_.window.end;
  in_.is_over = false;
  in_.ended.reset();
  in_.share = 1;
}

void SumStep::plan() noexcept {
  const SumSlot* const before = slots_.before;
  goes_on_ = holds_values(before) && before->window == in_.window.begin;
  loses_period_ = holds_values(before) && !goes_on_ && in_.is_over;
  if (in_.by_time && in_.ended && in_.ended->end < in_.window.begin) loses_period_ = true;
  const bool was_told = before && before->told_in != 0 && before->told_in != step_.iteration + 1;
  tells_before_ = holds_values(before) && !goes_on_ && !in_.is_over && !was_told;
  adds_before_ =
      tells_before_ && in_.ended && in_.ended->begin == before->window && in_.share_before > 0;
  added_ = added(in_.share);
  describe_now();
  if (in_.is_over) told_ = told_of(*slots_.now);
  if (!tells_before_) return;
  told_ = told_of(*before);
  if (in_.ended && in_.ended->begin == before->window) told_->end = in_.ended->end;
}

void SumStep::describe_now() noexcept {
  const SumSlot* const before = goes_on_ ? slots_.before : nullptr;
  SumSlot& now = *slots_.now;
  // The run may have begun within the period, or this variable.
  const double first_of_step = step_.has_time   ? step_.before
                               : step_.is_first ? step_.time
                                                : step_.before + 1;
  const double own_begin =
      in_.by_time || !step_.has_time ? std::max(in_.window.begin, first_of_step) : step_.before;
  now.count = (before ? before->count : 0) + (added_ > 0 ? 1 : 0);
  now.weight = (before ? before->weight : 0) + added_;
  now.window = in_.window.begin;
  now.since = before ? before->since : own_begin;
  now.time = step_.time;
  now.until = !step_.has_time              ? static_cast<double>(step_.iteration)
              : in_.by_time && in_.is_over ? in_.window.end
                                           : step_.time;
  now.is_whole = in_.is_over ? 1 : 0;
  now.told_in = 0;
}

double SumStep::added(double share) const noexcept {
  const bool is_divided = is_weighted(operation_) || operation_ == Operation::accumulate;
  return weight_ * (is_divided ? share : 1);
}

void SumStep::add(std::int64_t first, const double* values, std::int64_t count, double* result) {
  const SumPart now = part_of(sum_, operation_, slots_.number, first);
  if (!slots_.is_done) {
    const SumPart before = part_of(sum_, operation_, 1 - slots_.number, first);
    if (added_ > 0 || !goes_on_) {
      add_values(operation_, before, goes_on_ ? slots_.before->weight : 0, values,
                 added_ > 0 ? added_ : 1, count, now);
    } else {
      std::copy(before.values, before.values + count, now.values);
      if (now.squares) std::copy(before.squares, before.squares + count, now.squares);
    }
    if (told_ && result && tells_before_) return result_before(before, values, count, result);
  }
  if (told_ && result) result_of(operation_, now, slots_.now->weight, count, result);
}

// The share of this step that lies before its end is in it, too.
void SumStep::result_before(const SumPart& before, const double* values, std::int64_t count,
                            double* result) const {
  const double weight = slots_.before->weight;
  const double added = this->added(in_.share_before);
  if (!adds_before_ || added <= 0) return result_of(operation_, before, weight, count, result);
  double room[2][Evaluation::kAtOnce];
  const SumPart both{room[0], before.squares ? room[1] : nullptr};
  add_values(operation_, before, weight, values, added, count, both);
  result_of(operation_, both, weight + added, count, result);
}

void SumStep::finish() noexcept {
  if (slots_.is_done || !slots_.now) return;
  slots_.now->number.store(step_.iteration + 1, std::memory_order_release);
}

SumWithoutStep::SumWithoutStep(Operation operation, Sum& sum, const TimeStep& step,
                               const InPeriods& in)
    : operation_(operation),
      sum_(sum),
      slot_(last_before(sum, step.iteration + (step.is_end ? 1 : 0))) {
  if (slot_ < 0) return;
  SumSlot& slot = sum.head().slots[slot_];
  const bool is_over = in.is_over || slot.window != in.window.begin;
  const std::int64_t now = step.iteration + 1;
  if (!holds_values(&slot) || !is_over || (slot.told_in != 0 && slot.told_in != now)) return;
  slot.told_in = now;
  told_ = told_of(slot);
  if (operation == Operation::latest) told_->begin = told_->end;
}

void SumWithoutStep::result(std::int64_t first, std::int64_t count, double* to) const {
  result_of(operation_, part_of(sum_, operation_, slot_, first), sum_.head().slots[slot_].weight,
            count, to);
}

std::optional<double> last_time(const Sum& sum, std::int64_t iteration) {
  const int slot = last_before(sum, iteration);
  if (slot < 0 || sum.head().slots[slot].number.load() == 0) return std::nullopt;
  return sum.head().slots[slot].time;
}

}  // namespace leat::server
