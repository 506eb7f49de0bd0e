// SPDX-License-Identifier: Apache-2.0
// One block of a variable over time, in one iteration: what its sum becomes, and which period is over.
#pragma once

#include <cstdint>
#include <optional>

#include "server/derive/over_time.hpp"
#include "server/derive/periods.hpp"
#include "server/derive/sums.hpp"

namespace leat::server {

class SumStep {
 public:
  /// `weight`: of the step, 0 for one that takes no time.
  SumStep(model::Operation operation, Sum& sum, const TimeStep& step, const InPeriods& in,
          double weight);

  /// A server before this one has been further: nothing can be made of this iteration any more.
  bool is_past() const noexcept { return !slots_.now && !slots_.is_done; }
  /// The period that is over: a result comes. If the values come, else of what is there.
  const std::optional<PeriodTold>& told() const noexcept { return told_; }
  /// A period has ended, and is not told: a later one has, too, or the step went over it.
  bool loses_period() const noexcept { return loses_period_; }
  /// Elements from `first` on: adds them, and puts what a period comes to, if one is over, to `result`.
  void add(std::int64_t first, const double* values, std::int64_t count, double* result);
  /// After all of them.
  void finish() noexcept;

 private:
  void plan() noexcept;
  void stay_in_period() noexcept;
  void describe_now() noexcept;
  void result_before(const SumPart& before, const double* values, std::int64_t count,
                     double* result) const;
  /// What a share of the step adds to the weight of a sum.
  double added(double share) const noexcept;

  model::Operation operation_;
  Sum& sum_;
  TimeStep step_;
  InPeriods in_;
  double weight_, added_ = 0;
  SlotPair<SumSlot> slots_;
  bool goes_on_ = false;       // `before` is of the same period
  bool tells_before_ = false;  // the period of `before` is over; else that of `now`
  bool adds_before_ = false;   // a share of the step belongs to it
  bool loses_period_ = false;
  std::optional<PeriodTold> told_;
};

/// The time at the end of the last iteration before this one that is in a sum.
std::optional<double> last_time(const Sum& sum, std::int64_t iteration);

/// A block that has no values in this iteration, though it had: what its sum comes to where a period is over. Nothing else is changed.
class SumWithoutStep {
 public:
  SumWithoutStep(model::Operation operation, Sum& sum, const TimeStep& step, const InPeriods& in);
  const std::optional<PeriodTold>& told() const noexcept { return told_; }
  /// The last iteration of which something is in the sum.
  std::int64_t last_iteration() const noexcept {
    return sum_.head().slots[slot_].number.load() - 1;
  }
  void result(std::int64_t first, std::int64_t count, double* to) const;

 private:
  model::Operation operation_;
  Sum& sum_;
  int slot_ = -1;
  std::optional<PeriodTold> told_;
};

}  // namespace leat::server
