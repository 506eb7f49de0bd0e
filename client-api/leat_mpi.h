/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leat for MPI codes. Header only: your own MPI compiler compiles it, so libleat itself needs no MPI.
 */
#ifndef LEAT_MPI_H
#define LEAT_MPI_H

#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "leat.h"

/*
 * leat_init for the processes of `comm`: they are the simulation, whatever else runs in MPI_COMM_WORLD. Collective over
 * `comm`, which is not kept and stays as it is: no rank is taken away. MPI is used in this call only.
 * config: the same path on all ranks. Errors: as leat_init; each rank has its own status.
 */
static inline leat_status leat_init_mpi(const char* config, MPI_Comm comm) {
  char session[64];
  int rank, size, node_rank, node_size;
  MPI_Comm node;
  leat_ranks ranks;

  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &node_rank);
  MPI_Comm_size(node, &node_size);
  MPI_Comm_free(&node);

  /* One name for this run, different from any other's: time and process of the first rank. */
  memset(session, 0, sizeof session);
  if (rank == 0) {
    snprintf(session, sizeof session, "mpi-%ld-%ld-%ld", (long)getpid(), (long)time(NULL),
             (long)(MPI_Wtime() * 1e6) % 1000000);
  }
  MPI_Bcast(session, (int)sizeof session, MPI_CHAR, 0, comm);

  ranks.struct_size = sizeof ranks;
  ranks.rank = rank;
  ranks.size = size;
  ranks.node_rank = node_rank;
  ranks.node_size = node_size;
  ranks.session = session;
  return leat_init_ranks(config, &ranks);
}

#endif
