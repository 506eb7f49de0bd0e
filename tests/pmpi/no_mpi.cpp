// SPDX-License-Identifier: Apache-2.0
// Has the names of calls of MPI, of which one does nothing, one throws, as an error handler may, and one waits for 20 ms and gives way.
#include <sched.h>

#include <chrono>
#include <stdexcept>

extern "C" int MPI_Wait(void*, void*) { return 0; }
extern "C" int MPI_Probe(int, int, void*, void*) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::milliseconds(20); Clock::now() < end;)
    sched_yield();
  return 0;
}
extern "C" int MPI_Barrier(void*) { throw std::runtime_error("an error of MPI"); }
