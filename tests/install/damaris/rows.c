/* SPDX-License-Identifier: Apache-2.0 */
/* A program that calls Damaris, C and C++ at once. */
#include <Damaris.h>

int main(int argc, char** argv) {
  int is_client = 0, rank = 0, size = 0, step = 0, i = 0;
  double row[10];
  int64_t position[2] = {0, 0};
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  if (damaris_initialize("rows.xml", MPI_COMM_WORLD) != DAMARIS_OK) return 1;
  if (damaris_start(&is_client) == DAMARIS_OK && is_client) {
    damaris_client_comm_get(&comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    damaris_parameter_set("size", &size, sizeof size);
    position[0] = rank;
    damaris_set_position("u", position);
    for (step = 0; step < 3; ++step) {
      for (i = 0; i < 10; ++i) row[i] = 100 * step + 10 * rank + i;
      if (damaris_write("u", row) != DAMARIS_OK) return 2;
      damaris_end_iteration();
    }
    damaris_stop();
  }
  if (damaris_finalize() != DAMARIS_OK) return 3;
  MPI_Finalize();
  return 0;
}
