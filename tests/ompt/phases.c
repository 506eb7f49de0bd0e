/* SPDX-License-Identifier: Apache-2.0 */
/* A simulation that knows nothing of idle phases: phases XML ITERATIONS [beside|held]. After the parallel region of each iteration it
 * awaits, on one thread, that the plugin has worked on 8 pieces of it, which that says in the file "pieces".
 * beside: regions within regions, of one thread, of other threads and of a child process. held: it never goes on. */
#include <leat.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kBytes = 1000, kPieces = 8, kRegions = 20 };

static void must(int is_fine) {
  if (is_fine) return;
  fprintf(stderr, "%s\n", leat_last_error());
  exit(3);
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
    must(i < 6000);
    usleep(5000);
  }
}

/* The one place. */
static __attribute__((noinline)) void compute(unsigned char* a, int n) {
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < kBytes; ++i) a[i] = (unsigned char)(7 * i + 13 * n);
}

static void* compute_too(void* a) {
  for (int i = 0; i < kRegions; ++i) compute(a, i);
  return NULL;
}

static void compute_within(void) {
  static unsigned char a[2][kBytes];
#pragma omp parallel num_threads(2)
  compute(a[omp_get_thread_num()], 0);
}

static void compute_beside(void) {
  static unsigned char a[kBytes];
  pthread_t thread;
  int status = 0;
#pragma omp parallel if (0)
  memset(a, 0, sizeof a);
  must(pthread_create(&thread, NULL, compute_too, a) == 0 && pthread_join(thread, NULL) == 0);
  const pid_t child = fork();
  if (child == 0) {
    compute(a, 0);
    exit(0); /* not _exit: LLVM's runtime takes its file out of /dev/shm then */
  }
  must(waitpid(child, &status, 0) == child && status == 0);
}

static void iterate(int count, const char* what) {
  unsigned char a[kBytes];
  for (int n = 0; n < count; ++n) {
    compute(a, n);
    must(leat_write("a", a) == LEAT_OK && leat_end_iteration() == LEAT_OK);
    if (strcmp(what, "beside") == 0) compute_beside();
    while (strcmp(what, "held") == 0 && n == count - 1) pause();
    await_pieces(kPieces * (n + 1));
  }
  compute(a, 0);
}

int main(int argc, char** argv) {
  static unsigned char a[kBytes];
  const char* const what = argc > 3 ? argv[3] : "";
  omp_set_max_active_levels(2);
  compute(a, 0);
  must(leat_init(argv[1]) == LEAT_OK);
  for (int i = 0; i < 2; ++i) { /* it becomes known how long it takes */
    compute(a, 0);
    usleep(20000);
  }
  if (strcmp(what, "beside") == 0) compute_within();
  iterate(atoi(argv[2]), what);
  must(leat_finalize() == LEAT_OK);
  compute(a, 0);
  return 0;
}
