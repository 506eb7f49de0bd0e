/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of libleat: counts the idle phases that it is told, and says at the end of the process, in a file
 * phases-<process> of the folder LEAT_TEST_PHASES, how many these were, of how many places, and how many are still open; and in
 * meetings-<process>, after how many collectives of one rank, of two and of others it was told so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client-api/api/leat.h"

enum { kMost = 4096 };
static char places[kMost][32];
static int known, phases, nested, open_now;
static int meetings[3]; /* of one rank, of two, of others */

leat_status leat_idle_begin(const char* site) {
  int i = 0;
  if (open_now++ > 0) ++nested;
  ++phases;
  while (i < known && strcmp(places[i], site) != 0) ++i;
  if (i == known && known < kMost) snprintf(places[known++], sizeof places[0], "%s", site);
  return LEAT_OK;
}

leat_status leat_idle_end(void) {
  --open_now;
  return LEAT_OK;
}

leat_status leat_after_collective(int32_t ranks) {
  ++meetings[ranks == 1 || ranks == 2 ? ranks - 1 : 2];
  return LEAT_OK;
}

__attribute__((destructor)) static void say(void) {
  char path[4096];
  FILE* file;
  if (!getenv("LEAT_TEST_PHASES") || phases == 0) return;
  snprintf(path, sizeof path, "%s/phases-%d", getenv("LEAT_TEST_PHASES"), (int)getpid());
  file = fopen(path, "w");
  if (!file) abort();
  fprintf(file, "%d %d %d %d\n", phases, known, nested, open_now);
  fclose(file);
  snprintf(path, sizeof path, "%s/meetings-%d", getenv("LEAT_TEST_PHASES"), (int)getpid());
  file = fopen(path, "w");
  if (!file) abort();
  fprintf(file, "%d %d %d\n", meetings[0], meetings[1], meetings[2]);
  fclose(file);
}
