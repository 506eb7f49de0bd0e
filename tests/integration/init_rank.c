/* SPDX-License-Identifier: Apache-2.0 */
/* One rank that calls leat_init_mpi: init_rank XML WHAT. "abort": as physicists write it; "finalize", "forget": goes on whatever
 * the status is. A file "returned-<rank>" has the status and the message. */
#include <leat_mpi.h>
#include <stdio.h>
#include <string.h>

enum { N = 5, ITERATIONS = 10 };

int main(int count, char** words) {
  const int values[N] = {1, 2, 3, 4, 5};
  char name[32];
  int rank, i;
  leat_status status;
  FILE* says;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  status = leat_init_mpi(words[1], MPI_COMM_WORLD);
  if (status != LEAT_OK && strcmp(words[2], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 1);
  snprintf(name, sizeof name, "returned-%d", rank);
  says = fopen(name, "w");
  fprintf(says, "%s %s", leat_status_name(status), status != LEAT_OK ? leat_last_error() : "");
  fclose(says);
  for (i = 0; i < ITERATIONS; ++i) {
    leat_write("a", values);
    leat_end_iteration();
  }
  if (strcmp(words[2], "finalize") == 0) leat_finalize();
  MPI_Finalize();
  return 0;
}
