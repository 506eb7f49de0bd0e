// SPDX-License-Identifier: Apache-2.0
// One simulation process that times each of its calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/bench/samples.hpp"

namespace leat::bench {

struct Load {
  int clients = 1;
  std::size_t bytes = 0;  ///< of one block
  int iterations = 0;
  int writes_per_iteration = 1;
  std::int64_t compute_us = 20;  ///< between two iterations
  bool rotated = false;          ///< each write has another source, which no cache holds
  bool processor_time = false;   ///< instead of what a clock on the wall says: no wait counts
  int core = -1;  ///< to which client 0 is bound, client 1 to the next ...; -1: none is bound
  std::string config, session;
};

/// Runs in a process of its own. Returns the process' exit status; says on standard error what
/// failed. slept: adds how often the client went to sleep in calls of Leat.
int run_client(const Load& load, int client, Samples& samples, long* slept);

}  // namespace leat::bench
