/* SPDX-License-Identifier: Apache-2.0 */
/* many [COUNT BYTES]: collectives without end, or so many with files that may not have more bytes. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char** argv) {
  int one = 1, all = 0;
  int left = argc > 1 ? atoi(argv[1]) : -1;
  struct rlimit most;
  MPI_Init(&argc, &argv);
  getrlimit(RLIMIT_FSIZE, &most);
  if (left >= 0) most.rlim_cur = (rlim_t)atoi(argv[2]);
  if (left >= 0) setrlimit(RLIMIT_FSIZE, &most);
  signal(SIGXFSZ, SIG_IGN);
  for (; left != 0; left -= left > 0) MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  return MPI_Finalize();
}
