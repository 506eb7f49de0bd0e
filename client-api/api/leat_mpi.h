/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leat for MPI codes. Header only: your own MPI compiler compiles it, so libleat itself needs no MPI.
 */
#ifndef LEAT_MPI_H
#define LEAT_MPI_H

#include <mpi.h>
#include <stddef.h>

#include "leat_build.h"

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

static inline leat_group leat_mpi_group_of(struct leat_mpi_group* mpi, MPI_Comm all) {
  leat_group group;
  int rank = 0, size = 0;
  if (all != MPI_COMM_NULL) {
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
  }
  mpi->all = mpi->part = all;
  mpi->plugins = MPI_COMM_NULL;
  group.struct_size = sizeof group;
  group.context = mpi;
  group.rank = rank;
  group.size = size;
  group.arrive = leat_mpi_arrive;
  group.broadcast = leat_mpi_broadcast;
  group.least = leat_mpi_least;
  group.node = leat_mpi_node;
  group.divide = leat_mpi_divide;
  group.plugins = leat_mpi_plugins;
  return group;
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
  leat_group group = leat_mpi_group_of(&mpi, world);
  leat_status status;
  int32_t divided = 0;
  int key;

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
 * `comm`, which is not kept and stays as it is: no rank is taken away. MPI is used in this call only. The session is named by
 * LEAT_SESSION of the first rank, if that is set.
 * config: the same path on all ranks.
 * Errors: as leat_init, the same on all ranks, which return together: when one rank cannot connect, none has a session. The
 * message has been printed then, once. TIMEOUT also when some ranks have not come out of it after 180 s (three times
 * LEAT_SPLIT_TIMEOUT). Open MPI may cut off what was printed just before MPI_Abort: end with MPI_Finalize, and a status.
 *
 *     if (leat_init_mpi("heat.xml", MPI_COMM_WORLD) != LEAT_OK) {
 *       MPI_Finalize();
 *       return 1;
 *     }
 */
static inline leat_status leat_init_mpi(const char* config, MPI_Comm comm) {
  struct leat_mpi_group mpi;
  const leat_group group = leat_mpi_group_of(&mpi, comm);
  return leat_init_group(config, &group);
}

#endif
