/* SPDX-License-Identifier: Apache-2.0 */
/* A simulation that lends its threads for analyses:
 *
 *     lender run.xml ITERATIONS [refuse | broken | stall | late]
 *
 * It says "start SCHEDULE CORES" and "run PIECES" as Leat asks; each piece is done on one of two threads that it starts for that.
 * refuse: start fails; broken: its table is too small; stall: it does no piece;
 * late: it does none before the next iteration waits for them, and says so. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client-api/api/leat_build.h"

static const char* how = "";

struct work {
  int (*piece)(void* arg, uint64_t number);
  void* arg;
  uint64_t first, pieces;
};

static int start(void* context, const char* schedule, int cores) {
  printf("start %s %d%s\n", schedule, cores, context == &how ? "" : " without its context");
  fflush(stdout);
  return strcmp(how, "refuse") == 0;
}

static void* each_second(void* given) {
  const struct work* work = given;
  for (uint64_t i = work->first; i < work->pieces; i += 2) work->piece(work->arg, i);
  return NULL;
}

static void run(void* context, uint64_t pieces, int (*piece)(void* arg, uint64_t number),
                int (*is_late)(void* arg), void* arg) {
  pthread_t threads[2];
  struct work work[2] = {{piece, arg, 0, pieces}, {piece, arg, 1, pieces}};
  (void)context;
  printf("run %llu\n", (unsigned long long)pieces);
  fflush(stdout);
  while (strcmp(how, "stall") == 0) pause();
  if (strcmp(how, "late") == 0) {
    while (!is_late(arg)) usleep(1000);
    printf("late\n");
    how = "";
  }
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, each_second, &work[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
}

int main(int count, char** words) {
  leat_executor executor = {sizeof executor, &how, start, run};
  const int iterations = atoi(words[2]);
  if (count > 3) how = words[3];
  if (strcmp(how, "broken") == 0) executor.size = 8;
  if (leat_set_executor(&executor) != LEAT_OK) return 3;
  if (leat_init(words[1]) != LEAT_OK) return 4;
  for (int i = 0; i < iterations; ++i) {
    const int32_t row[5] = {i, i, i, i, i};
    if (leat_write("a", row) != LEAT_OK || leat_end_iteration() != LEAT_OK) return 5;
  }
  printf("wrote\n");
  fflush(stdout);
  return leat_finalize() == LEAT_OK ? 0 : 6;
}
