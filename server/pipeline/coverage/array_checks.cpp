// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/coverage/array_checks.hpp"

#include "server/pipeline/coverage/overlap_check.hpp"

namespace leat::server {

ArrayChecks::ArrayChecks(const model::Model& model, Wanted wanted)
    : model_(model), overlaps_(wanted.overlaps), holes_(model, wanted.from_start, wanted.holes) {}

std::vector<Finding> ArrayChecks::check(const Iteration& iteration) {
  std::vector<Finding> findings;
  if (iteration.complete) findings = holes_.check(iteration);
  if (!overlaps_) return findings;
  for (Finding& overlap : differing_overlaps(model_, iteration)) {
    // What differs, differs elsewhere in the next iteration.
    overlap.text = told_overlaps_.emplace(overlap.variable, overlap.text).first->second;
    findings.push_back(std::move(overlap));
  }
  return findings;
}

std::vector<Finding> ArrayChecks::finish() { return holes_.finish(); }

}  // namespace leat::server
