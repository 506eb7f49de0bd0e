/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of a job with place="ranks": split_rank XML WHAT [ITERATIONS]. Each rank says in a file "rank-<number in the
 * world>" what became of it: its process id, the status of leat_split, and lines of what WHAT has tried. */
#include <leat_mpi.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 512 };
static FILE* says;

static void say(const char* what, leat_status status) {
  fprintf(says, "%s %s %s\n", what, leat_status_name(status), status < 0 ? leat_last_error() : "");
  fflush(says);
}

static void await(const char* path) {
  while (access(path, F_OK) != 0) usleep(2000);
}

static void write_iterations(MPI_Comm comm, int first, int count) {
  double values[N];
  int rank, i, n;
  MPI_Comm_rank(comm, &rank);
  for (n = first; n < first + count; ++n) {
    for (i = 0; i < N; ++i) values[i] = 1000.0 * rank + n + i / 1024.0;
    if (leat_write("u", values) != LEAT_OK) say("write", leat_write("u", values));
    leat_end_iteration();
  }
}

int main(int count, char** words) {
  const char* const config = words[1];
  const char* const what = words[2];
  const int iterations = count > 3 ? atoi(words[3]) : 10;
  char name[32];
  int rank;
  MPI_Comm simulation = MPI_COMM_NULL;
  leat_status status;
  if (getenv("SPLIT_RANK_THREADS")) {
    int level;
    MPI_Init_thread(&count, &words, MPI_THREAD_SERIALIZED, &level);
  } else {
    MPI_Init(&count, &words);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "rank-%d", rank);
  says = fopen(name, "w");
  fprintf(says, "pid %d\n", (int)getpid());
  fflush(says);

  if (strcmp(what, "part") == 0 && rank > 0) {
    await("go");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  status = leat_split(config, MPI_COMM_WORLD, &simulation);
  say("split", status);
  if (strcmp(what, "part") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (status == LEAT_SERVED) {
    say("late", leat_init_mpi(config, simulation));
    MPI_Finalize();
    say("end", LEAT_OK);
    return 0;
  }
  if (status != LEAT_OK) {
    MPI_Finalize();
    return 1;
  }
  if (strcmp(what, "old") == 0) say("old", leat_init_mpi(config, MPI_COMM_WORLD));
  if (strcmp(what, "twice") == 0) say("twice", leat_split(config, MPI_COMM_WORLD, &simulation));
  if (strcmp(what, "twice") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (strcmp(what, "slow") == 0) await("go");
  if (strcmp(what, "none") != 0) {
    say("init", leat_init_mpi(config, simulation));
    write_iterations(simulation, 0, iterations);
    say("wrote", LEAT_OK);
    if (strcmp(what, "wait") == 0) {
      await("go");
      write_iterations(simulation, iterations, iterations);
    }
    if (strcmp(what, "forget") != 0) say("finalize", leat_finalize());
  }
  MPI_Finalize();
  say("end", LEAT_OK);
  return 0;
}
