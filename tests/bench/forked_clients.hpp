// SPDX-License-Identifier: Apache-2.0
// Simulation processes of a bench, made by fork.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace leat::bench {

/// run(number) gives the exit status of each. True when all are 0.
template <class Run>
bool fork_clients(int count, Run run) {
  std::vector<pid_t> children;
  for (int client = 0; client < count; ++client) {
    const pid_t child = fork();
    if (child == 0) _exit(run(client));
    children.push_back(child);
  }
  bool all_well = true;
  for (const pid_t child : children) {
    int status = 0;
    all_well = waitpid(child, &status, 0) == child && status == 0 && all_well;
  }
  return all_well;
}

}  // namespace leat::bench
