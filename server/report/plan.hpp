// SPDX-License-Identifier: Apache-2.0
// How long a run should have taken, by the models of docs/explanation/planning.md, which has their
// sources. `leat plan` has them for other numbers of ranks and cores too, in
// python-plugins/leat/planning/ways.py; tests/integration/test_report.py compares both.
#pragma once

#include <cstdint>

namespace leat::plan {

/// One iteration of a run as it was, on one node; times in seconds.
struct Measured {
  double compute = 0;   ///< with `ranks` cores
  double inside = 0;    ///< in Leat's calls, beside it
  double output = 0;    ///< of the stores, which wait for the disk
  double analysis = 0;  ///< of scripts and plugins on one core
  std::int64_t ranks = 1, iterations = 1;
  bool is_shared = false;       ///< the server's cores are the ranks'
  bool is_synchronous = false;  ///< ranks waited for output and analyses in their calls
};

/// Seconds of all iterations.
double expected_seconds(const Measured& run);
/// Of the same with output and analyses beside the next iteration, on cores of their own.
double overlapped_seconds(const Measured& run);

}  // namespace leat::plan
