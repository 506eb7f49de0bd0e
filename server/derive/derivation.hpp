// SPDX-License-Identifier: Apache-2.0
// Variables that are made of others, as expr="..." and operation="..." say: of each iteration that is whole, before stores and scripts have
// it, so that they find them as any other variable.
//
// A block is made of the blocks of the same rank and number. What is over time is in `Sums`, which a server that takes over goes on with.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "lib/model/model.hpp"
#include "server/derive/conditions.hpp"
#include "server/derive/constants.hpp"
#include "server/derive/derived_jobs.hpp"
#include "server/derive/derived_memory.hpp"
#include "server/derive/derived_values.hpp"
#include "server/derive/making.hpp"
#include "server/derive/over_run.hpp"
#include "server/derive/periods.hpp"
#include "server/derive/run_clock.hpp"
#include "server/derive/saved_sums.hpp"
#include "server/derive/sums.hpp"
#include "server/derive/sums_over_periods.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class Derivation {
 public:
  using Files = SavedSums::Files;
  /// Null where nothing is to be made.
  static Result<std::unique_ptr<Derivation>> make(const model::Model& model, Files files,
                                                  std::shared_ptr<Log> log);
  /// Before the first iteration. Without it this server is the only one.
  void reduce_by(OverRun::Reduce reduce) { over_run_.reduce_by(std::move(reduce)); }
  /// Before the first iteration: the lowest rank of this server.
  void serves(std::int32_t first_rank) { saved_.serves(first_rank); }
  /// Nothing comes any more: what is told then, behind the last iteration. Nothing where there is none.
  std::optional<Iteration> end_of_run(DerivationWrong* wrong);
  /// After that: keeps what periods have come to, for a run that goes on. Which stores never had something that was written once.
  std::vector<Finding> finish();
  /// What was written once, of a server before this one, for scripts.
  std::vector<Block> kept_for_scripts() const { return constants_.for_scripts(sums_.get()); }
  /// Else it only keeps what is written once, and no iteration has more by it.
  bool makes_any() const noexcept { return makes_any_; }

  /// Adds blocks, and what holds them, to the iteration; from one thread. Iterations come in ascending order, the last ones maybe once more after a
  /// server has died.
  DerivationWrong add_to(Iteration* iteration);

 private:
  Derivation(const model::Model& model, Files files, std::unique_ptr<Sums> sums,
             std::shared_ptr<Log> log);

  void make_of(Iteration* iteration, DerivationWrong* wrong);
  void take(const Iteration& iteration);
  TimeStep step_of(const Iteration& iteration);
  TimeStep step_of_end(const ClockSlot& last, std::vector<ParameterValue>* parameters) const;
  bool is_told_at_end(std::uint32_t variable) const {
    return wanted_[variable] > 0 &&
           is_at_end(model_.periods[model_.variables[variable].derived->period]);
  }
  void derive(std::uint32_t variable, const TimeStep& step, Making* making);
  void derive_over_time(std::uint32_t variable, const TimeStep& step, Making* making);
  void make_blocks(std::uint32_t variable, std::vector<DerivedJob> jobs, Making* making);

  const model::Model& model_;
  SavedSums saved_;
  std::unique_ptr<Sums> sums_;
  const std::vector<std::uint32_t> wanted_;  // by variable: 0 where nobody wants it
  Constants constants_;
  RunClock clock_;
  Periods periods_;
  Conditions conditions_;
  SumsOverPeriods over_periods_;
  std::shared_ptr<DerivedMemory> memory_ = std::make_shared<DerivedMemory>();
  DerivedValues values_;
  OverRun over_run_;
  DerivedFrom from_;  // of the iteration
  const bool makes_any_;
  bool has_end_ = false;                    // something is told when the run is over
  std::set<std::uint32_t> told_elsewhere_;  // when it was made last
};

}  // namespace leat::server
