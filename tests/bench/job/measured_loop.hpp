// SPDX-License-Identifier: Apache-2.0
// The simulation of the job: it computes, changes its array, and puts it out, again and again.
#pragma once

#include <vector>

#include "tests/bench/job/output.hpp"

namespace leat::bench {

struct Measured {
  std::vector<double> call_ns, iteration_ns;  // of each iteration that counts
  double start_s = 0, loop_s = 0, finish_s = 0;
  double cpu_s = 0;     // of this process, from start to finish
  double helper_s = 0;  // processor time of what works for it, while the loop ran
  double switches = 0;  // times that it went to sleep in output calls, while the loop ran
};

/// On each rank of the simulation.
Measured run_loop(const Setting& setting, const Method& method);

}  // namespace leat::bench
