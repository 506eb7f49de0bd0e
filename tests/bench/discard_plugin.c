/* SPDX-License-Identifier: Apache-2.0 */
/* Takes everything and keeps nothing: what is measured then is the channel, not a disk. */
#include "server/include/plugin.h"

static int open_store(const leat_run* run, const leat_host* host, void** state) {
  (void)run, (void)host, (void)state;
  return 0;
}

static int take_iteration(void* state, const leat_iteration_data* data) {
  (void)state, (void)data;
  return 0;
}

static int close_store(void* state) {
  (void)state;
  return 0;
}

LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {
    .abi = LEAT_PLUGIN_ABI,
    .size = sizeof(leat_plugin),
    .name = "discard",
    .open = open_store,
    .iteration = take_iteration,
    .close = close_store};
