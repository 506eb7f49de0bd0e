// SPDX-License-Identifier: Apache-2.0
// One simulation process that times each of its calls.
#pragma once

#include <cstddef>
#include <string>

#include "tests/bench/samples.hpp"

namespace leat::bench {

struct Load {
  std::string config;
  std::string session;
  int clients = 1;
  std::size_t bytes = 0;
  int iterations = 0;
  int writes_per_iteration = 1;
  bool processor_time = false;  ///< instead of what a clock on the wall says: no wait counts
  int core = -1;  ///< to which client 0 is bound, client 1 to the next ...; -1: none is bound
};

/// Runs in a process of its own. Returns the process' exit status; says on standard error what
/// failed.
int run_client(const Load& load, int client, Samples& samples);

}  // namespace leat::bench
