/* SPDX-License-Identifier: Apache-2.0
 * A simulation whose iterations are alike, for test_budget.py: what its calls cost, once all is in
 * swing, as instructions (callgrind) and as system calls (strace).
 *
 *   budget_client <config>      declares "small" (64 bytes), "kib" (1 KiB), "medium" (64 KiB) and "large" (1 MiB)
 *
 * Says where it is by system calls that fail: access("/leat/<what>/<iteration>"). */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include "client-api/api/leat.h"

enum { kIterations = 20, kMeasured = 15, kMedium = 16, kLarge = 3 };

static const struct timespec kNap = {0, 2000000};

static void check(leat_status status) {
  if (status == LEAT_OK) return;
  fprintf(stderr, "%s\n", leat_last_error());
  exit(1);
}

static void say(const char* what, int iteration) {
  char path[64];
  snprintf(path, sizeof path, "/leat/%s/%d", what, iteration);
  if (access(path, F_OK) == 0) exit(1);
}

/* As docs/design/segment.md draws it. */
static const char* segment(void) {
  char line[512], path[256] = "";
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    const char* const name = strstr(line, "/dev/shm/leat-");
    if (name && sscanf(name, "%255s", path) == 1) break;
  }
  if (maps) fclose(maps);
  const int fd = open(path, O_RDONLY);
  struct stat facts = {0};
  do { /* its memory is taken behind the start of the run */
    if (fstat(fd, &facts) != 0) exit(1);
    nanosleep(&kNap, NULL);
  } while (facts.st_blocks * 512 < facts.st_size);
  const char* const start = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_SHARED, fd, 0);
  if (start == MAP_FAILED) exit(1);
  return start;
}

/* It has taken all that was pushed, and stored it. */
static void await_server(const char* start, int iteration) {
  const char* const lane = start + *(const uint64_t*)(start + 40);
  const volatile uint64_t* const pushed = (const volatile uint64_t*)lane;
  const volatile uint64_t* const taken = (const volatile uint64_t*)(lane + 832);
  const volatile int64_t* const done = (const volatile int64_t*)(start + 320);
  for (int i = 0; *pushed != *taken || *done < iteration; ++i) {
    if (i == 10000) exit(1);
    nanosleep(&kNap, NULL);
  }
}

/* Instructions of the one call between; the name is that of the dump. */
#define COST(name, call)           \
  do {                             \
    CALLGRIND_ZERO_STATS;          \
    CALLGRIND_TOGGLE_COLLECT;      \
    check(call);                   \
    CALLGRIND_TOGGLE_COLLECT;      \
    CALLGRIND_DUMP_STATS_AT(name); \
  } while (0)

static void measure(const char* small) {
  void* place = NULL;
  COST("write", leat_write("small", small));
  COST("kib", leat_write("kib", small));
  COST("alloc", leat_alloc("small", &place));
  memcpy(place, small, 64);
  COST("commit", leat_commit("small"));
  COST("end", leat_end_iteration());
}

int main(int argc, char** argv) {
  static char data[1 << 20];
  const leat_ranks ranks = {sizeof ranks, 0, 1, 0, 1, NULL};
  if (argc != 2) return 2;
  check(leat_init_ranks(argv[1], &ranks));
  const char* const start = segment();
  for (int i = 0; i < kIterations; ++i) {
    say("begin", i);
    check(leat_write("small", data));
    check(leat_write("kib", data));
    for (uint32_t b = 0; b < kMedium; ++b) check(leat_write_block("medium", b, data));
    for (uint32_t b = 0; b < kLarge; ++b) check(leat_write_block("large", b, data));
    void* place = NULL;
    check(leat_alloc("small", &place));
    memset(place, i, 64);
    check(leat_commit("small"));
    check(leat_alloc_block("large", kLarge, &place));
    memset(place, i, 1 << 20);
    check(leat_commit_block("large", kLarge));
    say("written", i);
    if (i == kMeasured)
      measure(data);
    else
      check(leat_end_iteration());
    await_server(start, i);
  }
  check(leat_finalize());
  return 0;
}
