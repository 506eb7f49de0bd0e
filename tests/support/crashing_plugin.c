/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that crashes in the iteration $LEAT_TEST_CRASH_AT, in the way of $LEAT_TEST_CRASH. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "server/include/plugin.h"

static int open_it(const leat_run* run, const leat_host* host, void** state) {
  (void)run, (void)host, (void)state;
  return 0;
}

static int iteration(void* state, const leat_iteration_data* data) {
  (void)state;
  if (data->iteration != atoll(getenv("LEAT_TEST_CRASH_AT"))) return 0;
  if (strcmp(getenv("LEAT_TEST_CRASH"), "abort") == 0) abort();
  raise(SIGSEGV);
  return 0;
}

static int close_it(void* state) {
  (void)state;
  return 0;
}

LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {LEAT_PLUGIN_ABI,
                                                          sizeof(leat_plugin),
                                                          "crashing",
                                                          open_it,
                                                          iteration,
                                                          close_it,
                                                          NULL,
                                                          NULL,
                                                          NULL,
                                                          NULL,
                                                          NULL,
                                                          NULL,
                                                          NULL,
                                                          NULL};
