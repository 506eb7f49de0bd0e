// SPDX-License-Identifier: Apache-2.0
// costs WAITS [XML]: so many calls that wait for nothing, of no MPI (no_mpi.cpp), after leat_init where there is an XML; and one
// that throws, one that gives way, and the same without it.
#include <sched.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "leat.h"

extern "C" int MPI_Wait(void* request, void* status);
extern "C" int MPI_Barrier(void* comm);
extern "C" int MPI_Probe(int, int, void*, void*);

int main(int argc, char** argv) {
  const leat_ranks ranks = {sizeof ranks, 0, 1, 0, 1, nullptr};
  if (argc > 2 && leat_init_ranks(argv[2], &ranks) != LEAT_OK) return 1;
  MPI_Wait(nullptr, nullptr);
  CALLGRIND_TOGGLE_COLLECT;
  for (int i = std::atoi(argv[1]); i > 0; --i) MPI_Wait(nullptr, nullptr);
  CALLGRIND_TOGGLE_COLLECT;
  try {
    MPI_Barrier(nullptr);
  } catch (const std::runtime_error& error) {
    std::puts(error.what());
  }
  MPI_Wait(nullptr, nullptr);
  MPI_Probe(0, 0, nullptr, nullptr);
  access("it gives way by itself", F_OK);
  for (int i = 0; i < 100; ++i) sched_yield();
  return argc > 2 && leat_finalize() != LEAT_OK;
}
