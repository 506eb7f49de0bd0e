// SPDX-License-Identifier: Apache-2.0
#include "lib/plan/plan.hpp"

#include <algorithm>

#include "lib/base/text.hpp"

namespace leat::plan {
namespace {

// Ways that are closer than this are alike.
constexpr double kAlike = 0.01;

double count(std::int64_t number) { return static_cast<double>(number); }

double analysis_time(const Load& load, std::int64_t cores) {
  return load.analysis / count(std::max<std::int64_t>(1, std::min(cores, load.parallel)));
}

// Of which one core does what cannot be divided.
double core_seconds(const Load& load) {
  return load.compute * (load.sequential + (1 - load.sequential) * count(load.computing));
}

// The first iteration is computed before anything can be stored, the last one is stored when nothing
// is computed any more.
double overlapped(const Load& load, double computed, double served, double iteration) {
  return computed + served + count(load.iterations - 1) * iteration;
}

}  // namespace

Load load_of(const Measured& run) {
  Load load;
  load.output = run.output;
  load.analysis = run.analysis;
  load.computing = run.ranks;
  load.cores = run.ranks + (run.is_shared ? 0 : run.dedicated);
  load.iterations = run.iterations;
  load.compute = run.compute;
  load.inside = run.inside;
  if (run.is_synchronous)
    load.inside = std::max(0.0, run.inside - run.output - run.analysis);
  else if (run.is_shared)
    load.compute = std::max(0.0, run.compute - run.analysis / count(load.cores));
  return load;
}

double compute_time(const Load& load, std::int64_t cores) {
  const double sequential = load.compute * load.sequential;
  return sequential + (load.compute - sequential) * count(load.computing) / count(cores);
}

Way synchronous(const Load& load) {
  Way way;
  way.iteration =
      compute_time(load, load.cores) + load.inside + load.output + analysis_time(load, load.cores);
  way.total = way.iteration * count(load.iterations);
  return way;
}

Way dedicated(const Load& load, std::int64_t cores) {
  Way way{Way::Kind::dedicated, cores};
  const double computed = compute_time(load, load.cores - cores) + load.inside;
  const double served = load.output + analysis_time(load, cores);
  way.limit = served > computed ? Limit::output : Limit::compute;
  way.iteration = std::max(computed, served);
  way.total = overlapped(load, computed, served, way.iteration);
  return way;
}

Way dynamic(const Load& load) {
  Way way{Way::Kind::dynamic};
  const double computed = compute_time(load, load.cores) + load.inside;
  const double served =
      load.output + analysis_time(load, std::max<std::int64_t>(1, load.cores - 1));
  const double work = (core_seconds(load) + load.analysis) / count(load.cores);
  const double longest = std::max({computed, served, work});
  way.limit = longest == computed ? Limit::compute : longest == work ? Limit::cores : Limit::output;
  way.iteration = longest;
  way.total = overlapped(load, computed, served, way.iteration);
  return way;
}

Way as_it_was(const Measured& run) {
  Load load = load_of(run);
  if (!run.is_synchronous) return run.is_shared ? dynamic(load) : dedicated(load, run.dedicated);
  load.cores = load.computing;  // the others were idle
  return synchronous(load);
}

Way again(const Way& way, const Load& load) {
  switch (way.kind) {
    case Way::Kind::synchronous:
      return synchronous(load);
    case Way::Kind::dedicated:
      return dedicated(load, way.dedicated);
    case Way::Kind::dynamic:
      break;
  }
  return dynamic(load);
}

std::string name_of(const Way& way) {
  switch (way.kind) {
    case Way::Kind::synchronous:
      return "mode=\"sync\"";
    case Way::Kind::dedicated:
      return counted(static_cast<std::uint64_t>(way.dedicated), "dedicated core");
    case Way::Kind::dynamic:
      break;
  }
  return "no dedicated core";
}

std::vector<Way> ways(const Load& load) {
  std::vector<Way> all{synchronous(load)};
  if (load.cores > 1) {
    std::vector<Way> some;
    for (std::int64_t k = 1; k < load.cores; ++k) some.push_back(dedicated(load, k));
    all.push_back(some.front());
    if (const Way& most = best(some); most.dedicated > 1) all.push_back(most);
  }
  all.push_back(dynamic(load));
  return all;
}

const Way& best(const std::vector<Way>& ways) {
  const auto shortest = std::min_element(
      ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.total < b.total; });
  return *std::find_if(ways.begin(), ways.end(), [&](const Way& each) {
    return each.total <= shortest->total * (1 + kAlike);
  });
}

std::optional<double> iterations_until_full(const Load& load, const Way& way, double bytes,
                                            double buffer_bytes) {
  if (way.kind != Way::Kind::dedicated || bytes <= 0) return std::nullopt;
  const double computed = compute_time(load, load.cores - way.dedicated);
  const double served = load.output + analysis_time(load, way.dedicated);
  if (served <= computed || load.iterations <= 1) return std::nullopt;
  return buffer_bytes / bytes / (1 - computed / served);
}

}  // namespace leat::plan
