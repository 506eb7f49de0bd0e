/* SPDX-License-Identifier: Apache-2.0 */
/* C and C++, by the names of no other code: leat_stub.h has it too. */
#include "lib/os/scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef SCRATCH_SHARED
#define SCRATCH_SHARED static /* leat_stub.h has one for all files of a program */
#endif

/* The systems' names for memory that nothing is behind yet; strict C hides them. */
#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS 0x20
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0x4000
#endif

/* One region per block that is being computed at the same moment. */
struct scratch_region {
  struct scratch_region* next;
  void* memory;
  uint32_t block;
  char* variable; /* NULL: nobody's now */
};

SCRATCH_SHARED pthread_mutex_t scratch_lock = PTHREAD_MUTEX_INITIALIZER;
SCRATCH_SHARED struct scratch_region* scratch_regions = NULL;
SCRATCH_SHARED unsigned scratch_count = 0;

/* Where the address space is limited, the code itself needs most of it. So many have room for all of the machine's
 * memory; the next as many for half of it, and so on. */
static inline size_t scratch_most_bytes(void) {
  const size_t enough = (size_t)4 << 30;
  const unsigned of_a_size = 16, halvings = scratch_count / of_a_size;
  struct rlimit space;
  size_t bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  bytes = halvings < 16 && (bytes >> halvings) > enough ? bytes >> halvings
          : bytes < enough                              ? bytes
                                                        : enough;
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    const size_t share = space.rlim_cur / 8 >> (scratch_count < 16 ? scratch_count : 16);
    if (bytes > share) bytes = share;
  }
  return bytes;
}

static inline void* scratch_reserve(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), least = (size_t)64 << 20;
  size_t bytes = scratch_most_bytes();
  for (;; bytes /= 8) {
    void* memory = mmap(NULL, (bytes < least ? least : bytes) / page * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) return memory;
    if (bytes <= least) return NULL;
  }
}

static inline struct scratch_region* scratch_find(const char* variable, uint32_t block) {
  struct scratch_region* region = scratch_regions;
  while (region &&
         !(region->variable && region->block == block && strcmp(region->variable, variable) == 0))
    region = region->next;
  return region;
}

/* The one that was committed last is the warmest, and first in the list. */
static inline struct scratch_region* scratch_take_free(void) {
  struct scratch_region* region = scratch_regions;
  while (region && region->variable) region = region->next;
  if (region) return region;
  region = (struct scratch_region*)calloc(1, sizeof *region);
  if (!region) return NULL;
  region->memory = scratch_reserve();
  if (!region->memory) {
    free(region);
    return NULL;
  }
  ++scratch_count;
  region->next = scratch_regions;
  return scratch_regions = region;
}

static inline void scratch_move_to_front(struct scratch_region* region) {
  struct scratch_region** link = &scratch_regions;
  while (*link != region) link = &(*link)->next;
  *link = region->next;
  region->next = scratch_regions;
  scratch_regions = region;
}

static inline char* scratch_copy(const char* text) {
  const size_t bytes = strlen(text) + 1;
  char* copy = (char*)malloc(bytes);
  return copy ? (char*)memcpy(copy, text, bytes) : NULL;
}

void* scratch_memory(const char* variable, uint32_t block) {
  void* memory = NULL;
  struct scratch_region* region;
  pthread_mutex_lock(&scratch_lock);
  region = scratch_find(variable, block);
  if (!region && (region = scratch_take_free())) {
    region->block = block;
    region->variable = scratch_copy(variable);
  }
  if (region && region->variable) memory = region->memory;
  pthread_mutex_unlock(&scratch_lock);
  return memory;
}

int scratch_commit(const char* variable, uint32_t block) {
  struct scratch_region* region;
  pthread_mutex_lock(&scratch_lock);
  region = scratch_find(variable, block);
  if (region) {
    free(region->variable);
    region->variable = NULL;
    scratch_move_to_front(region);
  }
  pthread_mutex_unlock(&scratch_lock);
  return region != NULL;
}
