/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of all ranks, and of each by itself; an intercommunicator is none of them. */
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, mine = 1, sum;
  MPI_Comm part, both;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &part);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, part);
  MPI_Barrier(MPI_COMM_SELF);
  MPI_Comm_dup(MPI_COMM_WORLD, &both);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&part);
  return MPI_Finalize();
}
