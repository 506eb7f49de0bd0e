/* SPDX-License-Identifier: Apache-2.0 */
/* A store with a wild pointer: with the option spoil="N" it changes a bit of the first block of iteration N, although
 * blocks are read-only. Before that it writes "variable rank block has_checksum checksum" of each block into "sums.txt". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/include/plugin.h"

static const leat_run* the_run;
static long long spoiled = -1;

static int open_store(const leat_run* run, const leat_host* host, void** state) {
  (void)host, (void)state;
  the_run = run;
  for (uint64_t i = 0; i < run->option_count; ++i) {
    if (strcmp(run->options[i].name, "spoil") == 0) spoiled = atoll(run->options[i].value);
  }
  return 0;
}

static int take_iteration(void* state, const leat_iteration_data* data) {
  (void)state;
  FILE* file = fopen("sums.txt", "a");
  if (!file) return 1;
  for (uint64_t i = 0; i < data->block_count; ++i) {
    const leat_block* block = leat_block_at(data, i);
    fprintf(file, "%s %d %u %u %u\n", leat_variable_at(the_run, block->variable)->name, block->rank,
            block->block, block->has_checksum, block->checksum);
  }
  fclose(file);
  if (data->iteration == spoiled) ((unsigned char*)leat_block_at(data, 0)->data)[3] ^= 0x10;
  return 0;
}

static int close_store(void* state) {
  (void)state;
  return 0;
}

LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {.abi = LEAT_PLUGIN_ABI,
                                                          .size = sizeof(leat_plugin),
                                                          .name = "spoiling",
                                                          .open = open_store,
                                                          .iteration = take_iteration,
                                                          .close = close_store};
