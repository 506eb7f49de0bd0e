// SPDX-License-Identifier: Apache-2.0
// How long a run takes, by where its output and analyses are done: the models of
// docs/explanation/planning.md, which has their sources.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leat::plan {

/// One iteration on one node; times in seconds.
struct Load {
  double compute = 0;     ///< with `computing` cores
  double sequential = 0;  ///< the share of it that does not become shorter with more cores, 0 to 1
  double inside = 0;      ///< in Leat's calls, beside it
  double output = 0;      ///< of the stores, which wait for the disk
  double analysis = 0;    ///< of scripts and plugins on one core
  std::int64_t parallel = 1;   ///< cores that they can use
  std::int64_t computing = 1;  ///< cores with which `compute` was measured
  std::int64_t cores = 1;      ///< of the node
  std::int64_t iterations = 1;
};

/// One iteration of a run as it was, on one node; times in seconds.
struct Measured {
  double compute = 0, inside = 0, output = 0, analysis = 0;  ///< as of Load
  std::int64_t ranks = 1, dedicated = 1, iterations = 1;
  bool is_shared = false;       ///< the server's cores are the ranks'
  bool is_synchronous = false;  ///< ranks waited for output and analyses in their calls
};

/// Without what the ranks waited for in their calls; of shared cores without what analyses took of
/// them, as if ranks had left none idle.
Load load_of(const Measured& run);

/// What an iteration waits for.
enum class Limit { compute, output, cores };

/// A way to run it.
struct Way {
  enum class Kind { synchronous, dedicated, dynamic } kind = Kind::synchronous;
  std::int64_t dedicated = 0;  ///< cores
  double iteration = 0;        ///< seconds from one to the next, where there are many
  double total = 0;
  Limit limit = Limit::compute;
};

/// One iteration, with so many cores computing and nothing else on them.
double compute_time(const Load& load, std::int64_t cores);

/// The ranks wait for it all: n (C + r + W).
Way synchronous(const Load& load);
/// On cores of its own, beside the next iteration: C + r + W + (n - 1) max(C + r, W).
Way dedicated(const Load& load, std::int64_t cores);
/// On the simulation's cores while they have nothing to do: max(C + r, W, all the work over all cores).
Way dynamic(const Load& load);

/// The way of a run that was measured.
Way as_it_was(const Measured& run);
/// The same way with another load.
Way again(const Way& way, const Load& load);
/// `mode="sync"`, `2 dedicated cores`, `no dedicated core`.
std::string name_of(const Way& way);

/// Synchronous, one dedicated core, the best number of them if that is another, dynamic. Where there
/// is one core only: without dedicated ones.
std::vector<Way> ways(const Load& load);
/// The one with the shortest total; of such within one part in a hundred the first.
const Way& best(const std::vector<Way>& ways);

/// How many iterations until the buffer is full, where the server does not keep up.
std::optional<double> iterations_until_full(const Load& load, const Way& way, double bytes,
                                            double buffer_bytes);

}  // namespace leat::plan
