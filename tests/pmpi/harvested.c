/* SPDX-License-Identifier: Apache-2.0 */
/* A simulation that knows nothing of idle phases: harvested XML ITERATIONS [threads|killed]. In each iteration rank 0 awaits that the
 * plugin has worked on 8 pieces of it, which it says in the file "pieces", and the others await rank 0 in MPI_Allreduce.
 * threads: other threads wait in MPI too, and so does the main one in a parallel region. killed: rank 0 never comes. */
#include <leat_mpi.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 1000, kPieces = 8, kThreads = 3, kCalls = 50 };
static int rank;

static void must(leat_status status) {
  if (status == LEAT_OK) return;
  fprintf(stderr, "%s\n", leat_last_error());
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static int lines(const char* path) {
  FILE* const file = fopen(path, "r");
  int count = 0, letter;
  if (!file) return 0;
  while ((letter = getc(file)) != EOF) count += letter == '\n';
  fclose(file);
  return count;
}

static void await_pieces(int count) {
  int i;
  for (i = 0; lines("pieces") < count; ++i) {
    if (i == 6000) MPI_Abort(MPI_COMM_WORLD, 4);
    usleep(5000);
  }
}

/* The one place. */
static __attribute__((noinline)) void meet(void) {
  int one = 1, all = 0;
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void* wait_too(void* comm) {
  int i, one = 1, all = 0;
  for (i = 0; i < kCalls; ++i) MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, *(MPI_Comm*)comm);
  return NULL;
}

static void iterate(int first, int count) {
  unsigned char a[kBytes];
  int n, i;
  for (n = first; n < count; ++n) {
    for (i = 0; i < kBytes; ++i) a[i] = (unsigned char)(7 * i + 13 * n + rank);
    must(leat_write("a", a));
    must(leat_end_iteration());
    if (rank == 0) await_pieces(kPieces * (n + 1));
    meet();
  }
}

static void iterate_beside_threads(int count) {
  pthread_t threads[kThreads];
  MPI_Comm comms[kThreads];
  int i;
  for (i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, wait_too, &comms[i]);
  iterate(0, count);
  for (i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
#pragma omp parallel num_threads(2)
  {
#pragma omp master
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void be_killed(int count) {
  FILE* file;
  iterate(0, count);
  if (rank == 0)
    for (;;) pause();
  file = fopen("pid", "w");
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
  meet();
}

int main(int argc, char** argv) {
  const int count = atoi(argv[2]);
  const char* const what = argc > 3 ? argv[3] : "";
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (level < MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 5);
  must(leat_init_mpi(argv[1], MPI_COMM_WORLD));
  for (level = 0; level < 2; ++level) { /* it becomes known how long it takes */
    if (rank == 0) usleep(50000);
    meet();
  }
  if (strcmp(what, "threads") == 0)
    iterate_beside_threads(count);
  else if (strcmp(what, "killed") == 0)
    be_killed(count);
  else
    iterate(0, count);
  must(leat_finalize());
  MPI_Finalize();
  return 0;
}
