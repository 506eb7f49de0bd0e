/* SPDX-License-Identifier: Apache-2.0 */
/* places_bench XML ITERATIONS: a rank that computes and writes, wherever its server lives. The first rank prints as JSON what
 * calls took, in nanoseconds (medians), and the whole run from leat_init to leat_finalize, in seconds. */
#define _POSIX_C_SOURCE 200809L
#include <leat_mpi.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kBlocks = 16, kElements = 8192 };

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const long long x = *(const long long*)a, y = *(const long long*)b;
  return (x > y) - (x < y);
}

static long long median(long long* all, int count) {
  qsort(all, (size_t)count, sizeof *all, compare);
  return count > 0 ? all[count / 2] : 0;
}

static void compute(double* values, int iteration) {
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < kElements; ++i) values[i] = values[i] * 0.999 + iteration;
  }
}

static leat_status write_all(double* values, int iterations, long long* writes, long long* ends) {
  leat_status worst = LEAT_OK;
  for (int n = 0; n < iterations; ++n) {
    compute(values, n);
    for (unsigned block = 0; block < kBlocks; ++block) {
      const long long begin = now_ns();
      const leat_status status = leat_write_block("u", block, values);
      writes[n * kBlocks + (int)block] = now_ns() - begin;
      if (status != LEAT_OK) worst = status;
    }
    const long long begin = now_ns();
    if (leat_end_iteration() != LEAT_OK) worst = LEAT_ERROR_STATE;
    ends[n] = now_ns() - begin;
  }
  return worst;
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  if (count < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const int iterations = atoi(words[2]);
  MPI_Comm simulation;
  leat_status status = leat_split(words[1], MPI_COMM_WORLD, &simulation);
  if (status == LEAT_SERVED) return MPI_Finalize();
  double* values = calloc(kElements, sizeof *values);
  long long* writes = calloc((size_t)iterations * kBlocks, sizeof *writes);
  long long* ends = calloc((size_t)iterations, sizeof *ends);
  const long long begin = now_ns();
  if (status == LEAT_OK) status = leat_init_mpi(words[1], simulation);
  if (status == LEAT_OK) status = write_all(values, iterations, writes, ends);
  if (status == LEAT_OK) status = leat_finalize();
  const double seconds = (double)(now_ns() - begin) / 1e9;
  int rank = 0;
  if (status == LEAT_OK) MPI_Comm_rank(simulation, &rank);
  if (status != LEAT_OK) fprintf(stderr, "places_bench: %s\n", leat_last_error());
  if (rank == 0)
    printf("{\"write_ns\": %lld, \"end_ns\": %lld, \"run_s\": %f}\n",
           median(writes, iterations * kBlocks), median(ends, iterations), seconds);
  free(values), free(writes), free(ends);
  MPI_Finalize();
  return status == LEAT_OK ? 0 : 1;
}
