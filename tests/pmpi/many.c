/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives without end. */
#include <mpi.h>

int main(int argc, char** argv) {
  int one = 1, all = 0;
  MPI_Init(&argc, &argv);
  for (;;) MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}
