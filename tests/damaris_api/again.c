/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and stops the servers twice, as a program for Damaris may; says of each rank, each time, what it was. */
#include <Damaris.h>
#include <mpi.h>
#include <stdio.h>

static int two_iterations(int first) {
  double row[8];
  int now = -1;
  for (int step = first; step < first + 2; ++step) {
    for (int i = 0; i < 8; ++i) row[i] = step + 0.125 * i;
    if (damaris_get_iteration(&now) != DAMARIS_OK || now != step) return 1;
    if (damaris_write("u", row) != DAMARIS_OK || damaris_end_iteration() != DAMARIS_OK) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  int is_client = -1, number = 0, failed = 0;
  MPI_Init(&argc, &argv);
  if (argc != 2 || damaris_initialize(argv[1], MPI_COMM_WORLD) != DAMARIS_OK) return 1;
  for (int time = 0; time < 2; ++time) {
    failed = failed || damaris_start(&is_client) != DAMARIS_OK;
    puts(is_client ? "client" : "server");
    if (is_client) failed = failed || two_iterations(2 * time) || damaris_stop() != DAMARIS_OK;
    if (!is_client) failed = failed || damaris_end_iteration() != DAMARIS_CORE_IS_SERVER;
    /* All ranks come here, each time, and know the parameters. */
    MPI_Barrier(MPI_COMM_WORLD);
    failed =
        failed || damaris_parameter_get("nx", &number, sizeof number) != DAMARIS_OK || number != 8;
  }
  failed = failed || damaris_finalize() != DAMARIS_OK;
  MPI_Finalize();
  return failed;
}
