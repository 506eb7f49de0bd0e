/* SPDX-License-Identifier: Apache-2.0 */
/* A store that works on its first iteration for `seconds`, in which it gets something done all the time
 * (progress="yes") or hangs (progress="no") until there is a file "go-on". It keeps nothing. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/include/plugin.h"

static const leat_host* the_host;
static int pieces, says_progress;

static const char* option(const leat_run* run, const char* name) {
  for (uint64_t i = 0; i < run->option_count; ++i) {
    if (strcmp(run->options[i].name, name) == 0) return run->options[i].value;
  }
  return "";
}

static int open_store(const leat_run* run, const leat_host* host, void** state) {
  (void)state;
  the_host = host;
  pieces = (int)(atof(option(run, "seconds")) * 100);
  says_progress = strcmp(option(run, "progress"), "yes") == 0;
  return 0;
}

static int take_iteration(void* state, const leat_iteration_data* data) {
  const struct timespec pause = {0, 10000000};
  (void)state, (void)data;
  for (; pieces > 0 && access("go-on", F_OK) != 0; --pieces) {
    nanosleep(&pause, NULL);
    if (says_progress) leat_host_progress(the_host, 1);
  }
  return 0;
}

static int close_store(void* state) {
  (void)state;
  return 0;
}

LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {.abi = LEAT_PLUGIN_ABI,
                                                          .size = sizeof(leat_plugin),
                                                          .name = "slow",
                                                          .open = open_store,
                                                          .iteration = take_iteration,
                                                          .close = close_store};
