/* SPDX-License-Identifier: Apache-2.0 */
/* leat_init_mpi takes a communicator that is not the whole world, and takes nothing from it. */
#include "client-api/api/leat_mpi.h"

#include <stdio.h>

static int writes_of_the_even_half(const char* config, MPI_Comm half) {
  const double row[4] = {1, 2, 3, 4};
  int failed = leat_init_mpi(config, half) != LEAT_OK;
  failed |= leat_set_int("n", 4) != LEAT_OK;
  failed |= leat_write("row", row) != LEAT_OK;
  failed |= leat_end_iteration() != LEAT_OK;
  failed |= leat_finalize() != LEAT_OK;
  if (failed) printf("%s\n", leat_last_error());
  return failed;
}

int main(int count, char** arguments) {
  int world_rank, world_size, after, failed = count != 2;
  MPI_Comm half;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
  if (world_rank % 2 == 0) failed |= writes_of_the_even_half(arguments[1], half);
  MPI_Comm_size(MPI_COMM_WORLD, &after);
  failed |= after != world_size;
  MPI_Comm_free(&half);
  MPI_Finalize();
  return failed;
}
