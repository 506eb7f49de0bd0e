// SPDX-License-Identifier: Apache-2.0
// In which period of every="..." an iteration is, whether that is over with it, and what is due in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/model/marks.hpp"
#include "lib/model/model.hpp"

namespace leat::server {

/// What an iteration stands for: the time from the end of the one before it to its own.
struct TimeStep {
  std::int64_t iteration = 0;
  bool has_time = false;     ///< the run has one, and it is a number
  double time = 0;           ///< at the end of the iteration
  double before = 0;         ///< at the end of the one before; of the first one: `time`
  double length_before = 0;  ///< of the step before
  bool is_first = false;     ///< nothing is known of one before
  bool is_end = false;       ///< the run is over, behind this iteration
  double usual = 0;   ///< the first step of the run, by which others are weighed; 0: not known
  double origin = 0;  ///< the time of the first iteration
  double wall = 0, wall_before = 0;  ///< seconds by the clock on the wall
};

/// A period, in the time of the run or, without one, in iterations. What tells it from others is where it begins.
struct Window {
  double begin = 0, end = 0;
  bool operator==(const Window&) const = default;
};

/// What is told of a period that is over.
struct PeriodTold {
  double begin = 0, end = 0;  ///< in the time of the run; without one, first and last iteration
};

/// How the step is divided among periods.
struct InPeriods {
  Window window;         ///< that its end lies in
  bool by_time = false;  ///< windows are in the time of the run, else in iterations
  bool is_none =
      false;  ///< it is in no period: without a time, and of a state that the run begins with
  double share = 1;      ///< of the step that lies there
  bool is_over = false;  ///< it ends with this iteration
  /// The one before it, which has ended within the step, and how much of the step lies in that. Nothing: the step began where
  /// `window` did, or in it.
  std::optional<Window> ended;
  double share_before = 0;
};

class Periods {
 public:
  explicit Periods(const model::Model& model) : model_(model) {}

  InPeriods of(std::uint32_t period, const TimeStep& step);
  /// What is kept of single iterations is kept of this one.
  bool is_due(std::uint32_t period, const TimeStep& step);

 private:
  const model::Marks& marks_of(std::uint32_t period, const TimeStep& step);
  InPeriods by_time(const model::Marks& marks, const TimeStep& step) const;
  InPeriods of_run(bool counts, const TimeStep& step) const;

  const model::Model& model_;
  std::vector<model::Marks> marks_;  // by period, from the first step on
};

}  // namespace leat::server
