/* SPDX-License-Identifier: Apache-2.0 */
/* An analysis that is a burst: `cpu_ms` milliseconds of processor time on core `core`, after a pause of up to `pause_ms`, of a length
 * that differs each time. Appends to the file bursts.txt when it began and how long it took, in nanoseconds. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/include/plugin.h"

static double cpu_ms, pause_ms;
static unsigned int seed;

static const char* option(const leat_run* run, const char* name) {
  for (uint64_t i = 0; i < run->option_count; ++i)
    if (strcmp(run->options[i].name, name) == 0) return run->options[i].value;
  return "0";
}

static long long clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int open_store(const leat_run* run, const leat_host* host, void** state) {
  cpu_set_t cores;
  (void)host, (void)state;
  cpu_ms = atof(option(run, "cpu_ms"));
  pause_ms = atof(option(run, "pause_ms"));
  seed = (unsigned int)clock_ns(CLOCK_MONOTONIC);
  CPU_ZERO(&cores);
  CPU_SET((size_t)atoi(option(run, "core")), &cores);
  return sched_setaffinity(0, sizeof cores, &cores);
}

static int take_iteration(void* state, const leat_iteration_data* data) {
  const double pause = pause_ms * rand_r(&seed) / RAND_MAX;
  FILE* file;
  (void)state, (void)data;
  usleep((useconds_t)(pause * 1000));
  const long long begun_ns = clock_ns(CLOCK_MONOTONIC), used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  while ((double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns) < cpu_ms * 1e6) continue;
  file = fopen("bursts.txt", "a");
  if (!file) return 1;
  fprintf(file, "%lld %lld\n", begun_ns, clock_ns(CLOCK_MONOTONIC) - begun_ns);
  return fclose(file);
}

static int close_store(void* state) { return (void)state, 0; }

LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {.abi = LEAT_PLUGIN_ABI,
                                                          .size = sizeof(leat_plugin),
                                                          .name = "burst",
                                                          .open = open_store,
                                                          .iteration = take_iteration,
                                                          .close = close_store};
