// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/iteration_counts.hpp"

namespace leat::server {

bool IterationCounts::take(const PipelineResult& result) {
  Known& known = known_[result.iteration];
  if (result.kind == PipelineResult::Kind::iteration) {
    known.has_come = true;
    known.awaited += static_cast<std::int64_t>(result.at_work);
  } else {
    known.awaited -= static_cast<std::int64_t>(result.outcomes.size());
  }
  for (const StoreOutcome& outcome : result.outcomes) {
    known.has_failed |= !outcome.error.empty();
    known.was_left_out |= outcome.skipped;
    known.is_stored |= outcome.error.empty() && !outcome.skipped;
  }
  if (!known.has_come || known.awaited > 0) return false;
  count(known);
  known_.erase(result.iteration);
  return true;
}

void IterationCounts::count(const Known& known) noexcept {
  if (known.has_failed) {
    ++failed_;
  } else if (known.is_stored) {
    ++stored_;
  } else if (known.was_left_out) {
    ++skipped_;
  }
}

}  // namespace leat::server
