/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leat for MPI codes. Header only: your own MPI compiler compiles it, so libleat itself needs no MPI.
 */
#ifndef LEAT_MPI_H
#define LEAT_MPI_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "leat.h"

/* What the calls of a leat_group know. */
struct leat_mpi_group {
  MPI_Comm all, part, plugins;
  MPI_Request barrier;
};

static inline int32_t leat_mpi_arrive(void* context, int32_t begin) {
  struct leat_mpi_group* const group = (struct leat_mpi_group*)context;
  int done = 0;
  if (begin) MPI_Ibarrier(group->part, &group->barrier);
  MPI_Test(&group->barrier, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

static inline void leat_mpi_broadcast(void* context, void* data, int32_t bytes, int32_t root) {
  MPI_Bcast(data, bytes, MPI_BYTE, root, ((struct leat_mpi_group*)context)->all);
}

static inline void leat_mpi_least(void* context, int64_t* value) {
  int64_t mine = *value;
  MPI_Allreduce(&mine, value, 1, MPI_INT64_T, MPI_MIN, ((struct leat_mpi_group*)context)->all);
}

static inline void leat_mpi_node(void* context, int32_t* rank, int32_t* size) {
  MPI_Comm node;
  int number, count;
  MPI_Comm_split_type(((struct leat_mpi_group*)context)->all, MPI_COMM_TYPE_SHARED,
                      leat_memory_node(), MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &number);
  MPI_Comm_size(node, &count);
  MPI_Comm_free(&node);
  *rank = number;
  *size = count;
}

static inline void leat_mpi_divide(void* context, int32_t server, int32_t* rank, int32_t* size) {
  struct leat_mpi_group* const group = (struct leat_mpi_group*)context;
  int number, count;
  MPI_Comm_split(group->all, server, 0, &group->part);
  MPI_Comm_rank(group->part, &number);
  MPI_Comm_size(group->part, &count);
  *rank = number;
  *size = count;
}

static inline void* leat_mpi_plugins(void* context, int32_t serves, const char** why) {
  struct leat_mpi_group* const group = (struct leat_mpi_group*)context;
  int mine, least;
  MPI_Query_thread(&mine);
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, group->part);
  if (least < MPI_THREAD_SERIALIZED) {
    *why =
        "plugins run on threads of their own: MPI_Init_thread with MPI_THREAD_SERIALIZED is needed";
    return NULL;
  }
  MPI_Comm_split(group->part, serves ? 0 : MPI_UNDEFINED, 0, &group->plugins);
  return serves ? (void*)&group->plugins : NULL;
}

/* Called by MPI_Finalize before all else it does. */
static inline int leat_mpi_at_end(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  (void)leat_split_end();
  return MPI_SUCCESS;
}

/*
 * With place="ranks" in the XML of `config`, the last ranks of each node (as many as <dedicated cores>) become its servers,
 * and come back from this call when the run is over: LEAT_SERVED, *simulation is MPI_COMM_NULL, and MPI_Finalize is all that
 * is left to do. The others get a communicator of their own, for all that the code does with MPI_COMM_WORLD elsewhere and
 * for leat_init_mpi. In other places *simulation is `world` itself, so one source does for all; so do not free it.
 * Collective over `world`, before leat_init, once. config: the same path on all ranks.
 *
 *     MPI_Comm simulation;
 *     leat_status status = leat_split("heat.xml", MPI_COMM_WORLD, &simulation);
 *     if (status == LEAT_SERVED) return MPI_Finalize();
 *     leat_init_mpi("heat.xml", simulation);
 *
 * Errors are the same on all ranks, and *simulation is MPI_COMM_NULL then: CONFIG, also when a node has no rank left to
 * compute; SERVER, VERSION, MEMORY when a server cannot start; TIMEOUT when some ranks do not call it for 60 s
 * (LEAT_SPLIT_TIMEOUT has other seconds); STATE when called twice or after leat_init.
 */
static inline leat_status leat_split(const char* config, MPI_Comm world, MPI_Comm* simulation) {
  struct leat_mpi_group mpi;
  leat_group group;
  leat_status status;
  int32_t divided = 0;
  int rank, size, key;

  mpi.all = mpi.part = world;
  mpi.plugins = MPI_COMM_NULL;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  group.struct_size = sizeof group;
  group.context = &mpi;
  group.rank = rank;
  group.size = size;
  group.arrive = leat_mpi_arrive;
  group.broadcast = leat_mpi_broadcast;
  group.least = leat_mpi_least;
  group.node = leat_mpi_node;
  group.divide = leat_mpi_divide;
  group.plugins = leat_mpi_plugins;

  status = leat_split_group(config, &group, &divided);
  if (mpi.plugins != MPI_COMM_NULL) MPI_Comm_free(&mpi.plugins);
  *simulation = status == LEAT_OK ? mpi.part : MPI_COMM_NULL;
  if (status != LEAT_OK && mpi.part != world) MPI_Comm_free(&mpi.part);
  if (status == LEAT_OK && divided) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leat_mpi_at_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  }
  return status;
}

/*
 * leat_init for the processes of `comm`: they are the simulation, whatever else runs in MPI_COMM_WORLD. Collective over
 * `comm`, which is not kept and stays as it is: no rank is taken away. MPI is used in this call only.
 * config: the same path on all ranks. LEAT_SESSION of the first rank, where it is set, is the session's name; two runs at the
 * same time on a node must not have the same one. Errors: as leat_init; each rank has its own status. All ranks return
 * together, after a message is out: then end with MPI_Finalize and a return, since MPI_Abort may lose the last lines that a
 * rank has printed.
 */
static inline leat_status leat_init_mpi(const char* config, MPI_Comm comm) {
  char session[66];
  const char* chosen = getenv("LEAT_SESSION");
  int rank, size, node_rank, node_size, mine, worst;
  MPI_Comm node;
  leat_ranks ranks;
  double moment;
  leat_status status = leat_split_check(0, 0);

  if (status != LEAT_OK) return status;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  status = leat_split_check(rank, size);
  if (status != LEAT_OK) return status;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, leat_memory_node(), MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &node_rank);
  MPI_Comm_size(node, &node_size);
  MPI_Comm_free(&node);

  /* One name for this run, different from any other's: time and process of the first rank. */
  memset(session, 0, sizeof session);
  if (rank == 0 && chosen && *chosen) {
    strncpy(
        session, chosen,
        sizeof session - 1); /* one letter more than a name may have: no name is cut to another */
  } else if (rank == 0) {
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
  status = leat_init_ranks(config, &ranks);
  mine = status < 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, comm);
  /* Launchers forward what was printed, unless the job is aborted first. */
  for (moment = MPI_Wtime() + 0.3; worst && MPI_Wtime() < moment;) continue;
  return status;
}

#endif
