/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes down what others have published, as option "file" says. Built with the header that Leat had before plugins could
 * publish, as a user's is who has not built it again.
 */
#include <stdio.h>
#include <string.h>

#include "tests/abi/before/plugin.h"

static FILE* out;

static int open_file(const leat_run* run, const leat_host* host, void** state) {
  (void)host;
  for (uint64_t i = 0; i < run->option_count; ++i) {
    if (strcmp(run->options[i].name, "file") == 0) out = fopen(run->options[i].value, "w");
  }
  *state = NULL;
  return out == NULL;
}

static int iteration(void* state, const leat_iteration_data* data) {
  (void)state, (void)data;
  return 0;
}

static int results(void* state, const leat_result_set* set) {
  (void)state;
  for (uint64_t i = 0; i < set->result_count; ++i)
    fprintf(out, "%s %d %s\n", set->source, (int)set->iteration, leat_result_at(set, i)->name);
  return 0;
}

static int close_file(void* state) {
  (void)state;
  return fclose(out);
}

LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {
    LEAT_PLUGIN_ABI, sizeof(leat_plugin), "before", open_file, iteration, close_file, results};
