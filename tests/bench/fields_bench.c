/* SPDX-License-Identifier: Apache-2.0 */
/* fields_bench XML FIELDS ELEMENTS DAYS ROUNDS: a model that computes, in a rank of its own, and writes so many fields at the end of each
 * day; ROUNDS says how much it computes. Prints the seconds of the loop, and of that in calls of Leat. With LEAT=off these do nothing. */
#define _POSIX_C_SOURCE 200809L
#include <leat.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static void compute(double* values, long count, long rounds) {
  for (long round = 0; round < rounds; ++round)
    for (long i = 0; i < count; ++i) values[i] = values[i] * 0.999 + 1e-3 * (double)(i & 7);
}

int main(int count, char** words) {
  if (count < 6) return 2;
  const long fields = atol(words[2]), elements = atol(words[3]), days = atol(words[4]),
             rounds = atol(words[5]);
  if (leat_init(words[1]) != LEAT_OK) return 1;
  double* values = calloc((size_t)elements, sizeof *values);
  char(*names)[16] = calloc((size_t)fields, sizeof *names);
  if (!values || !names) return 1;
  for (long i = 0; i < fields; ++i) snprintf(names[i], sizeof *names, "f%04ld", i);
  double in_calls = 0;
  const double begin = now();
  for (long day = 0; day < days; ++day) {
    compute(values, elements, rounds);
    const double writes = now();
    for (long i = 0; i < fields; ++i) {
      values[0] = (double)(day * fields + i);
      if (leat_write(names[i], values) < 0) return 1;
    }
    if (leat_end_iteration() < 0) return 1;
    in_calls += now() - writes;
  }
  const double seconds = now() - begin;
  if (leat_finalize() < 0) return 1;
  printf("%.6f %.6f\n", seconds, in_calls);
  free(names);
  free(values);
  return 0;
}
