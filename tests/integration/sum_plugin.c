/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that adds up, over all servers of the job, the first values of all blocks of an iteration: test_plugin_mpi.py. The
 * option "file" is a name's beginning; behind it comes the number of the server among all, or "none" and the process where there is no MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/include/plugin.h"

struct sum {
  MPI_Comm* comm;
  FILE* file;
};

static int open_sum(const leat_run* run, const leat_host* host, void** state) {
  struct sum* const sum = malloc(sizeof *sum);
  char name[256];
  int rank = -1;
  sum->comm = leat_host_mpi_comm(host);
  if (sum->comm) MPI_Comm_rank(*sum->comm, &rank);
  if (sum->comm) {
    snprintf(name, sizeof name, "%s%d", run->options[0].value, rank);
  } else {
    snprintf(name, sizeof name, "%snone-%d", run->options[0].value, (int)getpid());
  }
  sum->file = fopen(name, "w");
  *state = sum;
  return sum->file ? 0 : 1;
}

static int add(void* state, const leat_iteration_data* data) {
  struct sum* const sum = state;
  double own = 0, all = 0;
  int servers = 0;
  uint64_t i;
  for (i = 0; i < data->block_count; ++i) own += *(const double*)leat_block_at(data, i)->data;
  if (sum->comm) MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, *sum->comm);
  if (sum->comm) MPI_Comm_size(*sum->comm, &servers);
  fprintf(sum->file, "%lld %d %.17g %.17g\n", (long long)data->iteration, servers, own, all);
  return 0;
}

static int close_sum(void* state) {
  struct sum* const sum = state;
  fclose(sum->file);
  free(sum);
  return 0;
}

LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {.abi = LEAT_PLUGIN_ABI,
                                                          .size = sizeof(leat_plugin),
                                                          .name = "sum",
                                                          .open = open_sum,
                                                          .iteration = add,
                                                          .close = close_sum};
