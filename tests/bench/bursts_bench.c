/* SPDX-License-Identifier: Apache-2.0 */
/* bursts_bench STEPS EVERY MS COUNTED: ranks that compute for MS milliseconds, each on a core of its own, and meet in an
 * all-reduce, again and again; each is a node of its own to Leat (folders node0, node1, ... with a run.xml), and writes in each
 * EVERY-th step. COUNTED 0: Leat is not told of the all-reduces. The first rank prints how long the steps took, in seconds. */
#define _GNU_SOURCE
#include <leat.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile double sink;

static void compute(double rounds) {
  double sum = 0;
  for (long i = 0; i < (long)rounds; ++i) sum += 1.0 / (1.0 + sum);
  sink = sum;
}

/* On all cores at once, as later. */
static double rounds_of(double ms) {
  double rounds = 1e6, least = 1e9;
  for (int i = 0; i < 20; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    compute(rounds);
    const double seconds = MPI_Wtime() - begin;
    if (seconds < least) least = seconds;
  }
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return rounds * ms / 1e3 / least;
}

static int join(int rank, int ranks) {
  char folder[32], session[64];
  leat_ranks who = {sizeof who, rank, ranks, 0, 1, session};
  snprintf(folder, sizeof folder, "node%d", rank);
  snprintf(session, sizeof session, "bursts-%d-%d", rank, (int)getpid());
  if (chdir(folder) != 0) return 1;
  if (leat_init_ranks("run.xml", &who) == LEAT_OK) return 0;
  return fprintf(stderr, "bursts_bench: %s\n", leat_last_error());
}

static void step(double rounds, int counted) {
  double mine = 1, sum;
  compute(rounds);
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (counted) leat_after_collective(0);
}

int main(int count, char** words) {
  int rank, ranks;
  double values[1000] = {0};
  cpu_set_t core;
  MPI_Init(&count, &words);
  if (count < 5) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CPU_ZERO(&core);
  CPU_SET((size_t)rank % (size_t)sysconf(_SC_NPROCESSORS_ONLN), &core);
  sched_setaffinity(0, sizeof core, &core);
  const int steps = atoi(words[1]), every = atoi(words[2]), counted = atoi(words[4]);
  const double rounds = rounds_of(atof(words[3]));
  if (join(rank, ranks) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  leat_write("values", values);
  leat_end_iteration(); /* what starts at the first iteration is there when time counts */
  for (int n = 0; n < every; ++n) step(rounds, counted);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int n = 0; n < steps; ++n) {
    if (n % every == 0) leat_write("values", values), leat_end_iteration();
    step(rounds, counted);
  }
  if (rank == 0) printf("{\"seconds\": %f}\n", MPI_Wtime() - begin);
  leat_finalize();
  MPI_Finalize();
}
