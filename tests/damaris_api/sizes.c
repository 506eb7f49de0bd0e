/* SPDX-License-Identifier: Apache-2.0 */
/* Sets sizes between any two writes, as public programs for Damaris do: "bar" gets shorter from cycle to cycle, in several blocks
 * of a rank (the example `vector` of Damaris); cells are n elements, and offsets of the same layout n + 1, in memory that
 * is taken before and handed over after the size has changed (OPM Flow). */
#include <Damaris.h>
#include <mpi.h>
#include <stdlib.h>

enum { kCycles = 4, kDomains = 2 };

static int set(const char* name, int value) {
  return damaris_parameter_set(name, &value, sizeof value);
}

static int write_vector(int rank, int size, int cycle, int length) {
  const int own = length / size / kDomains;
  float* const bar = malloc(sizeof *bar * (size_t)own);
  int failed = set("LENGTH", length);
  for (int block = 0; block < kDomains; ++block) {
    const int64_t position[1] = {(int64_t)(rank * kDomains + block) * own};
    for (int i = 0; i < own; ++i) bar[i] = (float)(1000 * cycle + (int)position[0] + i);
    failed = failed || damaris_set_block_position("bar", block, position) ||
             damaris_write_block("bar", block, bar);
  }
  free(bar);
  return failed;
}

/* Ranks have 5, 6, ... cells in the first cycle, and fewer or more in the next ones. */
static int write_cells(int rank, int size, int cycle) {
  const int cells = 5 + rank + (cycle % 2 ? 7 : 0);
  int64_t position[1] = {0};
  int all = 0, failed = 0;
  double* const pressure = malloc(sizeof *pressure * (size_t)cells);
  void *held = NULL, *offsets = NULL;
  for (int other = 0; other < size; ++other) {
    if (other == rank) position[0] = all;
    all += 5 + other + (cycle % 2 ? 7 : 0);
  }
  for (int i = 0; i < cells; ++i) pressure[i] = 1000. * cycle + (double)position[0] + i;
  failed = set("n_local", cells) || set("n_total", all) || damaris_alloc("types", &held) ||
           damaris_set_position("PRESSURE", position) || damaris_write("PRESSURE", pressure) ||
           set("n_local", cells + 1) || damaris_alloc("offsets", &offsets);
  for (int i = 0; !failed && i < cells; ++i) ((int*)held)[i] = 100 * rank + i;
  for (int i = 0; !failed && i <= cells; ++i) ((int*)offsets)[i] = 10000 * cycle + 8 * i;
  failed = failed || damaris_commit("types") || damaris_commit("offsets") ||
           damaris_clear("types") || damaris_clear("offsets");
  free(pressure);
  return failed;
}

int main(int argc, char** argv) {
  int is_client = 0, rank = 0, size = 0, failed = 0;
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  if (argc < 2 || damaris_initialize(argv[1], MPI_COMM_WORLD) || damaris_start(&is_client))
    return 1;
  if (is_client) {
    int length = 96;
    damaris_client_comm_get(&comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    failed = set("size", size);
    for (int cycle = 0; cycle < kCycles && !failed; ++cycle, length /= 2)
      failed = write_vector(rank, size, cycle, length) || write_cells(rank, size, cycle) ||
               damaris_end_iteration();
    damaris_stop();
  }
  failed = damaris_finalize() || failed;
  MPI_Finalize();
  return failed;
}
