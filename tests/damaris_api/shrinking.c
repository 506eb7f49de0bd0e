/* SPDX-License-Identifier: Apache-2.0 */
/* A simulation whose arrays get smaller and larger: sets the size before each iteration, as codes for Damaris may. */
#include <Damaris.h>
#include <mpi.h>
#include <stdlib.h>

static const int kSizes[] = {12, 6, 24, 2, 12};
enum { kSteps = sizeof kSizes / sizeof *kSizes };

static int write_one(int rank, int size, int step) {
  const int all = kSizes[step], own = all / size;
  const int64_t position[1] = {(int64_t)rank * own};
  double* const bar = malloc(sizeof *bar * (size_t)own);
  int failed = damaris_parameter_set("LENGTH", &all, sizeof all);
  for (int i = 0; i < own; ++i) bar[i] = 100 * step + rank * own + i;
  failed = failed || damaris_set_position("bar", position) || damaris_write("bar", bar) ||
           damaris_write("loose", bar);
  free(bar);
  return failed || damaris_end_iteration();
}

int main(int argc, char** argv) {
  int is_client = 0, rank = 0, size = 0, failed = 0;
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  if (argc < 2 || damaris_initialize(argv[1], MPI_COMM_WORLD) || damaris_start(&is_client))
    return 1;
  if (is_client) {
    damaris_client_comm_get(&comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    damaris_parameter_set("size", &size, sizeof size);
    for (int step = 0; step < kSteps && !failed; ++step) failed = write_one(rank, size, step);
    damaris_stop();
  }
  failed = damaris_finalize() || failed;
  MPI_Finalize();
  return failed;
}
