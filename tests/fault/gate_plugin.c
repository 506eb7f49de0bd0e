/* SPDX-License-Identifier: Apache-2.0 */
/* A store that is as slow as a test wants: it says in the working folder that it has begun an iteration, by a file
 * "begun-<n>", and is done with it once there is a file "gate-<n>" or "gate-open". It keeps nothing. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "server/include/plugin.h"

static int open_store(const leat_run* run, const leat_host* host, void** state) {
  (void)run, (void)host, (void)state;
  return 0;
}

static int is_there(const char* path) { return access(path, F_OK) == 0; }

static int take_iteration(void* state, const leat_iteration_data* data) {
  const struct timespec pause = {0, 1000000};
  char begun[64], gate[64];
  FILE* file;
  (void)state;
  snprintf(begun, sizeof begun, "begun-%lld", (long long)data->iteration);
  snprintf(gate, sizeof gate, "gate-%lld", (long long)data->iteration);
  file = fopen(begun, "w");
  if (!file) return 1;
  fclose(file);
  while (!is_there(gate) && !is_there("gate-open")) nanosleep(&pause, NULL);
  return 0;
}

static int close_store(void* state) {
  (void)state;
  return 0;
}

LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {.abi = LEAT_PLUGIN_ABI,
                                                          .size = sizeof(leat_plugin),
                                                          .name = "gate",
                                                          .open = open_store,
                                                          .iteration = take_iteration,
                                                          .close = close_store};
