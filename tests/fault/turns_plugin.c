/* SPDX-License-Identifier: Apache-2.0 */
/* A store that writes down in "turns.log" of the working folder when it begins and ends each iteration: a line "begin" or "end", the lowest
 * rank of its node, the iteration and its process. In between it waits for `ms`, and as long as there is a file "hold-<rank>". */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/include/plugin.h"

static const leat_run* the_run;
static long milliseconds = 1;

static void pause_for(long ms) {
  const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

static int open_store(const leat_run* run, const leat_host* host, void** state) {
  (void)host, (void)state;
  the_run = run;
  for (uint64_t i = 0; i < run->option_count; ++i)
    if (strcmp(run->options[i].name, "ms") == 0) milliseconds = atol(run->options[i].value);
  return 0;
}

static int note(const char* what, int64_t iteration) {
  char line[128];
  const int length =
      snprintf(line, sizeof line, "%s %d %lld %d\n", what, (int)leat_run_first_rank(the_run),
               (long long)iteration, (int)getpid());
  const int fd = open("turns.log", O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int failed = fd < 0 || write(fd, line, (size_t)length) != length;
  if (fd >= 0) close(fd);
  return failed;
}

static int take_iteration(void* state, const leat_iteration_data* data) {
  char hold[64];
  (void)state;
  if (note("begin", data->iteration)) return 1;
  pause_for(milliseconds);
  snprintf(hold, sizeof hold, "hold-%d", (int)leat_run_first_rank(the_run));
  while (access(hold, F_OK) == 0) pause_for(2);
  return note("end", data->iteration);
}

static int close_store(void* state) {
  (void)state;
  return 0;
}

LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {.abi = LEAT_PLUGIN_ABI,
                                                          .size = sizeof(leat_plugin),
                                                          .name = "turns",
                                                          .open = open_store,
                                                          .iteration = take_iteration,
                                                          .close = close_store};
