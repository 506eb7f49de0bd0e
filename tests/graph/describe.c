/* SPDX-License-Identifier: Apache-2.0 */
/* A module in C that notes all that it is told, a line of JSON for each part and turn, and steers: describe PORT... */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "leat_module.h"

static void list(FILE* to, const char* key, const int64_t* numbers, int count) {
  fprintf(to, ", \"%s\": [", key);
  for (int d = 0; d < count; ++d) fprintf(to, "%s%" PRId64, d ? ", " : "", numbers[d]);
  fputs("]", to);
}

static void hex(FILE* to, const leat_part* part) {
  fputs(", \"data\": \"", to);
  for (uint64_t i = 0; i < part->bytes; ++i)
    fprintf(to, "%02x", ((const unsigned char*)part->data)[i]);
  fputs("\"", to);
}

static void note(FILE* to, const char* port, const leat_part* part) {
  fprintf(to, "{\"turn\": %" PRId64 ", \"port\": \"%s\", \"iteration\": %" PRId64,
          leat_turn_iteration(), port, part->iteration);
  fprintf(to, ", \"type\": %d, \"unit\": \"%s\", \"source\": \"%s\"", part->type, part->unit,
          part->source ? part->source : "");
  fprintf(to, ", \"rank\": %d, \"block\": %d, \"level\": %d", part->rank, part->block, part->level);
  list(to, "extent", part->extent, part->dims);
  list(to, "ghosts_before", part->ghosts_before, part->dims);
  list(to, "ghosts_after", part->ghosts_after, part->dims);
  if (part->has_position) list(to, "position", part->position, part->dims);
  if (part->has_global) list(to, "global", part->global, part->dims);
  fputs(", \"names\": [", to);
  for (int d = 0; d < part->dims; ++d) fprintf(to, "%s\"%s\"", d ? ", " : "", part->name[d]);
  fputs("]", to);
  hex(to, part);
  fputs("}\n", to);
}

static void note_run(FILE* to) {
  int64_t steps = -1;
  double dt = -1, time = -1;
  const char* word = "";
  leat_turn_int("steps", &steps);
  leat_turn_double("dt", &dt);
  leat_turn_text("word", &word);
  leat_turn_time(&time);
  fprintf(to,
          "{\"turn\": %" PRId64 ", \"steps\": %" PRId64
          ", \"dt\": %.17g, \"word\": \"%s\", \"time\": %.17g",
          leat_turn_iteration(), steps, dt, word, time);
  fprintf(to, ", \"name\": \"%s\", \"colour\": \"%s\", \"limits\": %s, \"none\": %d",
          leat_module_name(), leat_module_option("colour"), leat_module_option("limits"),
          leat_module_option("none") != NULL);
  fprintf(to, ", \"no_such_parameter\": %d, \"not_an_integer\": %d", leat_turn_double("dtt", &dt),
          leat_turn_int("word", &steps));
  fprintf(to, ", \"complete\": %d}\n", leat_turn_complete());
}

int main(int count, char** ports) {
  if (leat_turn_iteration() != -1 || leat_parts("u") != LEAT_ERROR_STATE) return 1;
  while (leat_wait() == 1) {
    FILE* to = fopen("describe.seen", "a");
    note_run(to);
    for (int i = 1; i < count; ++i) {
      leat_part part;
      for (int k = 0; k < leat_parts(ports[i]); ++k)
        if (leat_get(ports[i], k, &part) == LEAT_OK) note(to, ports[i], &part);
    }
    fclose(to);
    const double dt = 0.25 * (double)leat_turn_iteration(), two[2] = {1, 2};
    const int64_t extent = 2;
    if (leat_put("dt", two, LEAT_TYPE_FLOAT64, 1, &extent) != LEAT_ERROR_SHAPE) return 1;
    if (leat_put("dt", "x", LEAT_TYPE_CHAR, 0, NULL) != LEAT_ERROR_TYPE) return 1;
    if (leat_put("dt", &dt, LEAT_TYPE_FLOAT64, 0, NULL) != LEAT_OK) return 1;
  }
  return 0;
}
