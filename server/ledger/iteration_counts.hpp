// SPDX-License-Identifier: Apache-2.0
// How many iterations stores have, each counted when the last store is done with it.
#pragma once

#include <cstdint>
#include <map>

#include "server/pipeline/pipeline_result.hpp"

namespace leat::server {

class IterationCounts {
 public:
  /// Outcomes of one iteration: its result, or what comes late, which may do so before that. True:
  /// there are no more of it.
  bool take(const PipelineResult& result);

  /// All stores that wanted something of them have it, but for those that have left it out.
  std::uint64_t stored() const noexcept { return stored_; }
  /// All stores that wanted something of them have left it out.
  std::uint64_t skipped() const noexcept { return skipped_; }
  /// At least one store that wanted something of them does not have it.
  std::uint64_t failed() const noexcept { return failed_; }

 private:
  struct Known {
    std::int64_t awaited = 0;  // stores whose outcome is to come
    bool has_come = false, is_stored = false, was_left_out = false, has_failed = false;
  };

  void count(const Known& known) noexcept;

  std::map<std::int64_t, Known> known_;  // of those that some store is still at work on
  std::uint64_t stored_ = 0, skipped_ = 0, failed_ = 0;
};

}  // namespace leat::server
