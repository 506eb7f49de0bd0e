// SPDX-License-Identifier: Apache-2.0
// Variables that are made of others, as expr="..." and operation="..." say: of each iteration that is whole, before stores and scripts have
// it, so that they find them as any other variable.
//
// A block is made of the blocks of the same rank and number. What is over time is in `Sums`, which a server that takes over goes on with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/comm/group.hpp"
#include "lib/model/model.hpp"
#include "server/derive/block_inputs.hpp"
#include "server/derive/derived_memory.hpp"
#include "server/derive/gradient.hpp"
#include "server/derive/saved_sums.hpp"
#include "server/derive/space_reduction.hpp"
#include "server/derive/sum_step.hpp"
#include "server/derive/sums.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class Derivation {
 public:
  /// What was wrong with an iteration.
  struct Wrong {
    std::vector<BlockProblem> problems;  ///< blocks that are not there
    std::vector<Finding> findings;       ///< values that are not as somebody may think
  };

  using Files = SavedSums::Files;
  /// Null where nothing is to be made.
  static Result<std::unique_ptr<Derivation>> make(const model::Model& model, Files files,
                                                  std::shared_ptr<Log> log);
  /// What all servers of the run come to.
  struct OfRun {
    comm::Columns columns;
    comm::Rank self = 0, servers = 1;
  };
  /// The `call`-th reduction of an iteration: waits for the other servers. Nothing where it is not known in time.
  using Reduce =
      std::function<std::optional<OfRun>(std::int64_t iteration, std::uint16_t call,
                                         std::function<comm::Columns(comm::Rank)> columns)>;
  /// Before the first iteration. Without it this server is the only one.
  void reduce_by(Reduce reduce) { reduce_ = std::move(reduce); }

  /// Before the first iteration: the lowest rank of this server.
  void serves(std::int32_t first_rank) { saved_.serves(first_rank); }
  /// Nothing comes any more: keeps what periods have come to, for a run that goes on.
  void finish();

  /// Adds blocks, and what holds them, to the iteration; from one thread. Iterations come in ascending order, the last ones maybe once more after a
  /// server has died.
  Wrong add_to(Iteration* iteration);

 private:
  struct Job;   // one block
  struct Made;  // what one variable has in an iteration

  Derivation(const model::Model& model, Files files, std::unique_ptr<Sums> sums,
             std::shared_ptr<Log> log);

  const model::Layout& layout_of(std::uint32_t variable) const {
    return model_.layouts[model_.variables[variable].layout];
  }
  std::size_t dims_of(std::uint32_t variable) const {
    return layout_of(variable).dimensions.size();
  }
  bool has_blocks(std::uint32_t variable) const {
    const auto found = from_.blocks.find(variable);
    return found != from_.blocks.end() && !found->second.empty();
  }
  TimeStep step_of(const Iteration& iteration);
  void warn_of_time(std::int64_t iteration, double said, const ClockSlot* before);
  TimeStep of_inputs(const model::Derived& derived, TimeStep step,
                     const Iteration& iteration) const;
  double weight_of(const TimeStep& step) const;
  void expect_main(std::uint32_t variable, Wrong* wrong) const;
  void take_constants(const Iteration& iteration);
  std::vector<Block> constants(std::uint32_t variable) const;
  void derive(std::uint32_t variable, const TimeStep& step, Iteration* iteration, Wrong* wrong);
  std::shared_ptr<DerivedMemory::Piece> room_for(std::uint32_t variable, std::vector<Job>* jobs,
                                                 Wrong* wrong);
  std::vector<Job> jobs_of(std::uint32_t variable, std::int64_t iteration, Wrong* wrong);
  void differentiate(const Gradient& gradient, Job* job, Wrong* wrong);
  bool is_due(const model::Derived& derived, Iteration* iteration);
  void settle_condition(std::uint32_t period, Iteration* iteration);
  bool holds(std::uint32_t period, const Iteration& iteration);
  void reduce(std::uint32_t variable, Iteration* iteration, Wrong* wrong);
  std::optional<OfRun> over_run(std::uint32_t variable,
                                const std::shared_ptr<SpaceReducer>& reducer,
                                const Iteration& iteration);
  void tell_reduced(std::uint32_t variable, const SpaceReducer& reducer, const OfRun& of_run,
                    std::vector<Job>* jobs, Iteration* iteration, Made* made, Wrong* wrong);
  void find_sums(std::size_t dims, std::vector<Job>* jobs);
  std::string make_sum(std::uint32_t variable, const TimeStep& step, const InPeriods& in, Job* job,
                       Wrong* wrong);
  void begin_sum(std::uint32_t variable, TimeStep step, Job* job, Wrong* wrong, std::string* why);
  void add_untouched(std::uint32_t variable, const TimeStep& step, const InPeriods& in,
                     std::vector<Job>* jobs);
  void compute(std::uint32_t variable, Job* job, Made* made);
  void note(std::uint32_t variable, const Iteration& iteration, const Made& made,
            Wrong* wrong) const;

  void tell_lack(std::uint32_t variable, const TimeStep& step, const InPeriods& in,
                 Wrong* wrong) const;

  const model::Model& model_;
  SavedSums saved_;
  Periods periods_;
  std::unique_ptr<Sums> sums_;
  std::shared_ptr<DerivedMemory> memory_ = std::make_shared<DerivedMemory>();
  std::shared_ptr<Log> log_;
  Reduce reduce_{};
  std::map<std::uint32_t, Evaluation> evaluations_;  // by derived variable
  std::map<std::uint32_t, Evaluation> conditions_;   // by period
  std::set<std::uint32_t> unsettled_;  // conditions that were not looked at in this iteration
  std::set<std::uint32_t>
      told_elsewhere_;  // variables of the iteration that another server has in its files
  std::vector<std::uint32_t> wanted_;  // by variable: 0 where nobody wants it
  std::set<std::uint32_t> constants_wanted_;
  DerivedFrom from_;  // of the iteration
  BlockInputs inputs_;
  std::set<std::string> said_;
};

}  // namespace leat::server
