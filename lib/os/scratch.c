/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "lib/os/scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* One region per block that is being computed at the same moment. */
struct region {
  struct region* next;
  void* memory;
  uint32_t block;
  char* variable; /* NULL: nobody's now */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct region* regions;
static unsigned count;

static const size_t kLeast = (size_t)64 << 20, kEnough = (size_t)4 << 30;
/* So many have room for all of the machine's memory; the next as many for half of it, and so on. */
enum { kOfASize = 16 };

/* Where the address space is limited, the code itself needs most of it. */
static size_t most_bytes(void) {
  struct rlimit space;
  size_t bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  const unsigned halvings = count / kOfASize;
  bytes = halvings < 16 && (bytes >> halvings) > kEnough ? bytes >> halvings
          : bytes < kEnough                              ? bytes
                                                         : kEnough;
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    const size_t share = space.rlim_cur / 8 >> (count < 16 ? count : 16);
    if (bytes > share) bytes = share;
  }
  return bytes;
}

static void* reserve(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t bytes = most_bytes();; bytes /= 8) {
    void* memory = mmap(NULL, (bytes < kLeast ? kLeast : bytes) / page * page,
                        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) return memory;
    if (bytes <= kLeast) return NULL;
  }
}

static struct region* find(const char* variable, uint32_t block) {
  struct region* region = regions;
  while (region &&
         !(region->variable && region->block == block && strcmp(region->variable, variable) == 0))
    region = region->next;
  return region;
}

/* The one that was committed last is the warmest, and first in the list. */
static struct region* take_free(void) {
  struct region* region = regions;
  while (region && region->variable) region = region->next;
  if (region) return region;
  region = calloc(1, sizeof *region);
  if (!region) return NULL;
  region->memory = reserve();
  if (!region->memory) {
    free(region);
    return NULL;
  }
  ++count;
  region->next = regions;
  return regions = region;
}

static void move_to_front(struct region* region) {
  struct region** link = &regions;
  while (*link != region) link = &(*link)->next;
  *link = region->next;
  region->next = regions;
  regions = region;
}

void* scratch_memory(const char* variable, uint32_t block) {
  void* memory = NULL;
  pthread_mutex_lock(&lock);
  struct region* region = find(variable, block);
  if (!region && (region = take_free())) {
    region->block = block;
    region->variable = strdup(variable);
  }
  if (region && region->variable) memory = region->memory;
  pthread_mutex_unlock(&lock);
  return memory;
}

int scratch_commit(const char* variable, uint32_t block) {
  pthread_mutex_lock(&lock);
  struct region* region = find(variable, block);
  if (region) {
    free(region->variable);
    region->variable = NULL;
    move_to_front(region);
  }
  pthread_mutex_unlock(&lock);
  return region != NULL;
}
