// SPDX-License-Identifier: Apache-2.0
// operation="...": which sum each block goes to in an iteration, and which periods are over with it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/derive/derived_jobs.hpp"
#include "server/derive/making.hpp"
#include "server/derive/periods.hpp"
#include "server/derive/saved_sums.hpp"
#include "server/derive/sums.hpp"

namespace leat::server {

class SumsOverPeriods {
 public:
  /// It outlives this.
  explicit SumsOverPeriods(Periods* periods) : periods_(*periods) {}

  /// Gives each job of a variable its step of a sum. What is at a place goes on there, also when another rank has it now. Blocks that have
  /// none in this iteration are added where a period is over. `is_shared`: there are other servers.
  void begin(std::uint32_t variable, const TimeStep& step, const InPeriods& in, bool is_shared,
             Sums* sums, std::vector<DerivedJob>* jobs, Making* making);

 private:
  std::string begin_job(std::uint32_t variable, TimeStep step, bool is_shared, Sums* sums,
                        DerivedJob* job, Making* making);
  std::string make_sum(std::uint32_t variable, const TimeStep& step, bool is_shared, Sums* sums,
                       DerivedJob* job, Making* making);

  Periods& periods_;
  std::set<std::uint32_t> told_;  // variables whose sums were said to begin anew
};

/// In the iterations of the period in which the run goes on without what it had come to before.
void tell_lack(std::uint32_t variable, const TimeStep& step, const InPeriods& in,
               const std::optional<SavedSums::Lacks>& lacks, Making* making);

}  // namespace leat::server
