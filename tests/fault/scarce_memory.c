/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into leatd by a test: shared memory comes slowly, or runs out, while leatd takes it.
 *
 *   LEAT_SCARCE_STEPS=<n>   after so many steps /dev/shm is full
 *   LEAT_SCARCE_PAUSE=<ms>  each step takes so long
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static atomic_int steps;

static int number(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text && strcmp(program_invocation_short_name, "leatd") == 0 ? atoi(text) : otherwise;
}

static int is_full(void) {
  const int most = number("LEAT_SCARCE_STEPS", -1);
  return most >= 0 && atomic_load(&steps) > most;
}

static int is_shared_memory(int fd) {
  char link[32], path[64] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return readlink(link, path, sizeof path - 1) > 0 && strncmp(path, "/dev/shm/", 9) == 0;
}

/* Ours are found before the system's. */
#pragma GCC visibility push(default)

int madvise(void* address, size_t bytes, int advice) {
  if (advice == MADV_POPULATE_WRITE) {
    atomic_fetch_add(&steps, 1);
    usleep(1000 * (unsigned)number("LEAT_SCARCE_PAUSE", 0));
    if (is_full()) return errno = EFAULT, -1;
  }
  return (int)syscall(SYS_madvise, address, bytes, advice);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  if (is_full() && is_shared_memory(fd)) return errno = ENOSPC, -1;
  return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}
