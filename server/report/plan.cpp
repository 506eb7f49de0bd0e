// SPDX-License-Identifier: Apache-2.0
#include "server/report/plan.hpp"

#include <algorithm>

namespace leat::plan {
namespace {

double served(const Measured& run) { return run.output + run.analysis; }

// Without what ranks waited for in their calls.
double own_inside(const Measured& run) {
  return run.is_synchronous ? std::max(0.0, run.inside - served(run)) : run.inside;
}

// The first iteration is computed before anything can be stored, the last one is stored when nothing
// is computed any more.
double overlapped(const Measured& run, double computed, double iteration) {
  return computed + served(run) + static_cast<double>(run.iterations - 1) * iteration;
}

// Without what analyses took of the ranks' cores, as if ranks had left none idle.
double shared_seconds(const Measured& run) {
  const auto cores = static_cast<double>(run.ranks);
  const double compute = std::max(0.0, run.compute - run.analysis / cores);
  const double computed = compute + run.inside, work = compute + run.analysis / cores;
  return overlapped(run, computed, std::max({computed, served(run), work}));
}

}  // namespace

double expected_seconds(const Measured& run) {
  if (run.is_synchronous)
    return (run.compute + own_inside(run) + served(run)) * static_cast<double>(run.iterations);
  return run.is_shared ? shared_seconds(run) : overlapped_seconds(run);
}

double overlapped_seconds(const Measured& run) {
  const double computed = run.compute + own_inside(run);
  return overlapped(run, computed, std::max(computed, served(run)));
}

}  // namespace leat::plan
