/* SPDX-License-Identifier: Apache-2.0 */
/* Takes everything and keeps nothing: what is measured then is the channel, not a disk. With the option read="yes" it
 * reads all data once, as a store that writes them does: their cache lines then come to the server's core. */
#include <string.h>

#include "server/include/plugin.h"

static int reads;
static volatile uint64_t read_so_far;

static int open_store(const leat_run* run, const leat_host* host, void** state) {
  (void)host, (void)state;
  for (uint64_t i = 0; i < run->option_count; ++i)
    if (strcmp(run->options[i].name, "read") == 0)
      reads = strcmp(run->options[i].value, "yes") == 0;
  return 0;
}

static int take_iteration(void* state, const leat_iteration_data* data) {
  (void)state;
  uint64_t sum = 0;
  for (uint64_t i = 0; reads && i < data->block_count; ++i) {
    const leat_block* block = leat_block_at(data, i);
    const uint64_t* words = (const uint64_t*)block->data;
    for (uint64_t w = 0; w < block->bytes / 8; ++w) sum += words[w];
  }
  read_so_far = sum;
  return 0;
}

static int close_store(void* state) {
  (void)state;
  return 0;
}

LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {.abi = LEAT_PLUGIN_ABI,
                                                          .size = sizeof(leat_plugin),
                                                          .name = "discard",
                                                          .open = open_store,
                                                          .iteration = take_iteration,
                                                          .close = close_store};
