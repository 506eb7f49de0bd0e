/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of MPI that wait, one of each kind, on two ranks; the last one prints how many these were, each at a place of its own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls;

#define WAITS(call)                                          \
  do {                                                       \
    ++calls;                                                 \
    if ((call) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3); \
  } while (0)
#define IS(value, expected)                                                               \
  do {                                                                                    \
    if ((value) != (expected)) {                                                          \
      fprintf(stderr, "%s is %g, not %g\n", #value, (double)(value), (double)(expected)); \
      MPI_Abort(MPI_COMM_WORLD, 4);                                                       \
    }                                                                                     \
  } while (0)

static MPI_Comm all;
static int rank, other;

static void between_two(void) {
  double mine[4] = {rank, 1, 2, 3}, its[4] = {-1, -1, -1, -1};
  MPI_Request requests[2];
  MPI_Status status, statuses[2];
  MPI_Message message;
  int index, count, indices[2];
  if (rank == 0) WAITS(MPI_Send(mine, 4, MPI_DOUBLE, other, 1, all));
  if (rank == 1) WAITS(MPI_Recv(its, 4, MPI_DOUBLE, other, 1, all, &status));
  if (rank == 1) IS(its[0], 0.0);
  if (rank == 1) WAITS(MPI_Ssend(mine, 4, MPI_DOUBLE, other, 2, all));
  if (rank == 0) WAITS(MPI_Probe(other, 2, all, &status));
  if (rank == 0) MPI_Irecv(its, 4, MPI_DOUBLE, other, 2, all, requests);
  if (rank == 0) WAITS(MPI_Wait(requests, &status));
  WAITS(MPI_Sendrecv(mine, 4, MPI_DOUBLE, other, 3, its, 4, MPI_DOUBLE, other, 3, all, &status));
  IS(its[0], (double)other);
  WAITS(MPI_Sendrecv_replace(its, 4, MPI_DOUBLE, other, 4, other, 4, all, &status));
  IS(its[0], (double)rank);
  MPI_Irecv(its, 2, MPI_DOUBLE, other, 5, all, &requests[0]);
  MPI_Isend(mine, 2, MPI_DOUBLE, other, 5, all, &requests[1]);
  WAITS(MPI_Waitall(2, requests, statuses));
  IS(its[0], (double)other);
  MPI_Irecv(its, 2, MPI_DOUBLE, other, 6, all, &requests[0]);
  MPI_Isend(mine, 2, MPI_DOUBLE, other, 6, all, &requests[1]);
  WAITS(MPI_Waitany(2, requests, &index, &status));
  WAITS(MPI_Waitsome(2, requests, &count, indices, statuses));
  IS(count, 1);
  MPI_Isend(mine, 1, MPI_DOUBLE, other, 7, all, &requests[0]);
  WAITS(MPI_Mprobe(other, 7, all, &message, &status));
  WAITS(MPI_Mrecv(its, 1, MPI_DOUBLE, &message, &status));
  WAITS(MPI_Wait(requests, MPI_STATUS_IGNORE));
}

static void among_all(void) {
  int mine = 10 + rank, it = 0, two[2] = {rank, 10 * rank}, of_all[2] = {-1, -1};
  const int ones[2] = {1, 1}, places[2] = {0, 1}, bytes[2] = {0, sizeof(int)};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  WAITS(MPI_Barrier(all));
  WAITS(MPI_Allreduce(&mine, &it, 1, MPI_INT, MPI_SUM, all));
  IS(it, 21);
  WAITS(MPI_Bcast(&it, 1, MPI_INT, 0, all));
  WAITS(MPI_Reduce(&mine, &it, 1, MPI_INT, MPI_MAX, 1, all));
  WAITS(MPI_Reduce_scatter(two, &it, ones, MPI_INT, MPI_SUM, all));
  IS(it, rank == 0 ? 1 : 10);
  WAITS(MPI_Reduce_scatter_block(two, &it, 1, MPI_INT, MPI_SUM, all));
  WAITS(MPI_Scan(&mine, &it, 1, MPI_INT, MPI_SUM, all));
  IS(it, rank == 0 ? 10 : 21);
  WAITS(MPI_Exscan(&mine, &it, 1, MPI_INT, MPI_SUM, all));
  WAITS(MPI_Gather(&mine, 1, MPI_INT, of_all, 1, MPI_INT, 0, all));
  WAITS(MPI_Gatherv(&mine, 1, MPI_INT, of_all, ones, places, MPI_INT, 0, all));
  if (rank == 0) IS(of_all[1], 11);
  WAITS(MPI_Scatter(of_all, 1, MPI_INT, &it, 1, MPI_INT, 0, all));
  WAITS(MPI_Scatterv(of_all, ones, places, MPI_INT, &it, 1, MPI_INT, 0, all));
  IS(it, mine);
  WAITS(MPI_Allgather(&mine, 1, MPI_INT, of_all, 1, MPI_INT, all));
  WAITS(MPI_Allgatherv(&mine, 1, MPI_INT, of_all, ones, places, MPI_INT, all));
  WAITS(MPI_Alltoall(two, 1, MPI_INT, of_all, 1, MPI_INT, all));
  WAITS(MPI_Alltoallv(two, ones, places, MPI_INT, of_all, ones, places, MPI_INT, all));
  WAITS(MPI_Alltoallw(two, ones, bytes, types, of_all, ones, bytes, types, all));
  IS(of_all[1], rank == 0 ? 1 : 10);
}

static void with_neighbors(void) {
  const int ones[1] = {1}, places[1] = {0}, next[1] = {other};
  const MPI_Aint bytes[1] = {0};
  const MPI_Datatype types[1] = {MPI_INT};
  int mine = rank, its = -1;
  MPI_Comm graph, ring, part;
  WAITS(
      MPI_Dist_graph_create_adjacent(all, 1, next, ones, 1, next, ones, MPI_INFO_NULL, 0, &graph));
  WAITS(MPI_Neighbor_allgather(&mine, 1, MPI_INT, &its, 1, MPI_INT, graph));
  IS(its, other);
  WAITS(MPI_Neighbor_allgatherv(&mine, 1, MPI_INT, &its, ones, places, MPI_INT, graph));
  WAITS(MPI_Neighbor_alltoall(&mine, 1, MPI_INT, &its, 1, MPI_INT, graph));
  WAITS(MPI_Neighbor_alltoallv(&mine, ones, places, MPI_INT, &its, ones, places, MPI_INT, graph));
  its = -1;
  WAITS(MPI_Neighbor_alltoallw(&mine, ones, bytes, types, &its, ones, bytes, types, graph));
  IS(its, other);
  WAITS(MPI_Comm_dup(graph, &ring));
  WAITS(MPI_Comm_split(all, 0, -rank, &part));
  MPI_Comm_rank(part, &its);
  IS(its, other);
  WAITS(MPI_Comm_free(&ring));
  WAITS(MPI_Comm_free(&part));
  WAITS(MPI_Comm_free(&graph));
}

static void in_windows_and_files(void) {
  int place = -1, read = -1;
  MPI_Win window;
  MPI_File file;
  WAITS(MPI_Win_create(&place, sizeof place, sizeof place, MPI_INFO_NULL, all, &window));
  WAITS(MPI_Win_fence(0, window));
  WAITS(MPI_Win_fence(0, window));
  WAITS(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, window));
  WAITS(MPI_Win_flush(other, window));
  WAITS(MPI_Win_unlock(other, window));
  WAITS(MPI_Win_free(&window));
  MPI_File_open(all, "both", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  WAITS(MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT,
                              MPI_STATUS_IGNORE));
  WAITS(MPI_File_sync(file));
  WAITS(MPI_Barrier(all));
  WAITS(MPI_File_read_at(file, other * (MPI_Offset)sizeof rank, &read, 1, MPI_INT,
                         MPI_STATUS_IGNORE));
  IS(read, other);
  WAITS(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  all = MPI_COMM_WORLD;
  MPI_Comm_rank(all, &rank);
  other = 1 - rank;
  between_two();
  among_all();
  with_neighbors();
  in_windows_and_files();
  MPI_Finalize();
  printf("rank %d: %d calls\n", rank, calls);
  return 0;
}
