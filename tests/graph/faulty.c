/* SPDX-License-Identifier: Apache-2.0 */
/* Modules in C that do something wrong, or that look at what they get: faulty MODE [NUMBER]. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "leat_module.h"

static const char* mode;

static int is(const char* word) { return strcmp(mode, word) == 0; }

static int goes_wrong(void) {
  return is("crash") || is("write") || is("exit") || is("end") || is("end_at_once") ||
         is("rubbish") || is("twice") || is("unknown");
}

/* <module>.seen, to be written on. */
static FILE* seen(void) {
  char name[256];
  snprintf(name, sizeof name, "%s.seen", leat_module_name());
  return fopen(name, "a");
}

static void pause_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

/* The line of /proc/self/maps for this address. */
static void tell_mapping(const void* data) {
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "r"), *to = seen();
  while (maps && to && fgets(line, sizeof line, maps)) {
    uintptr_t first = 0, last = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &first, &last) == 2 && (uintptr_t)data >= first &&
        (uintptr_t)data < last)
      fputs(line, to);
  }
  if (maps) fclose(maps);
  if (to) fclose(to);
}

/* Private memory of this process, in KiB. */
static long own_memory(void) {
  char line[256];
  long kib = -1;
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "RssAnon: %ld", &kib);
  if (status) fclose(status);
  return kib;
}

static void note(const char* port) {
  FILE* to = seen();
  if (leat_parts(port) >= 0) fprintf(to, "%" PRId64 "\n", leat_turn_iteration());
  fclose(to);
}

/* NUMBER doubles, in memory that is not copied. */
static void make_large(int64_t count) {
  void* data = NULL;
  const leat_status status = leat_put_memory((uint64_t)count * sizeof(double), &data);
  FILE* to = seen();
  for (int64_t i = 0; status == LEAT_OK && i < count; ++i)
    ((double*)data)[i] = (double)(i + leat_turn_iteration());
  if (status == LEAT_OK) leat_put("sum", data, LEAT_TYPE_FLOAT64, 1, &count);
  fprintf(to, "%d %ld %p\n", status, own_memory(), data);
  fclose(to);
}

static void check_large(void) {
  leat_part part;
  int64_t right = 0;
  if (leat_get("in", 0, &part) != LEAT_OK) return;
  for (int64_t i = 0; i < part.extent[0]; ++i)
    right += ((const double*)part.data)[i] == (double)(i + part.iteration);
  FILE* to = seen();
  fprintf(to, "%" PRId64 " %ld\n", right, own_memory());
  fclose(to);
  tell_mapping(part.data);
}

static void put_number(void) {
  const double number = (double)leat_turn_iteration();
  leat_put("sum", &number, LEAT_TYPE_FLOAT64, 0, NULL);
}

static void go_wrong(void) {
  const double number = (double)leat_turn_iteration();
  leat_part part;
  leat_get("u", 0, &part);
  if (is("crash")) raise(SIGSEGV);
  if (is("write")) *(double*)part.data = number; /* NOLINT: what must end it */
  if (is("exit")) exit(1);
  if (is("end")) exit(0);
  if (is("end_at_once")) _exit(0);
  if (is("rubbish")) {
    const char text[] = "this is no frame, and nobody can tell what follows it";
    if (write(3, text, sizeof text) < 0) abort();
  }
  if (is("twice")) put_number();
  leat_put(is("unknown") ? "sun" : "sum", &number, LEAT_TYPE_FLOAT64, 0, NULL);
}

int main(int count, char** words) {
  mode = count > 1 ? words[1] : "";
  const int64_t number = count > 2 ? atoll(words[2]) : 0;
  if (is("silent")) return 0;
  while (leat_wait() == 1) {
    leat_part part;
    if (is("note")) note("in");
    if (is("slow")) pause_ms(number);
    if (is("large")) make_large(number);
    if (is("check")) check_large();
    if (is("where") && leat_get("u", 0, &part) == LEAT_OK) tell_mapping(part.data);
    if (goes_wrong() && leat_turn_iteration() == number)
      go_wrong();
    else if (goes_wrong())
      put_number();
  }
  return 0;
}
