/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin in plain C, of the installed leat/plugin.h alone: the sum of each variable's bytes, as text. */
#include <leat/plugin.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct sizes {
  const leat_run* run;
  uint64_t* bytes; /* one for each variable */
} sizes;

static int open_sizes(const leat_run* run, const leat_host* host, void** state) {
  sizes* mine = malloc(sizeof *mine);
  (void)host;
  if (mine == NULL) return 1;
  mine->run = run;
  mine->bytes = calloc(run->variable_count + 1, sizeof *mine->bytes);
  *state = mine;
  return mine->bytes == NULL;
}

static int add_sizes(void* state, const leat_iteration_data* data) {
  sizes* mine = state;
  for (uint64_t b = 0; b < data->block_count; ++b) {
    const leat_block* block = leat_block_at(data, b);
    mine->bytes[block->variable] += block->bytes;
  }
  return 0;
}

static int write_sizes(void* state) {
  sizes* mine = state;
  FILE* out = fopen("sizes.txt", "w");
  int failed = out == NULL;
  for (uint32_t v = 0; !failed && v < mine->run->variable_count; ++v) {
    fprintf(out, "%s %llu\n", leat_variable_at(mine->run, v)->name,
            (unsigned long long)mine->bytes[v]);
  }
  if (!failed) failed = fclose(out) != 0;
  free(mine->bytes);
  free(mine);
  return failed;
}

LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {.abi = LEAT_PLUGIN_ABI,
                                                          .size = sizeof(leat_plugin),
                                                          .name = "sizes",
                                                          .open = open_sizes,
                                                          .iteration = add_sizes,
                                                          .close = write_sizes};
