/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For libraries that bring threads, like leat_tbb.hpp: analyses with runs="dynamic" are done on them. The server is in the process
 * of the simulation then, as <dedicated place="thread"/> says.
 */
#ifndef LEAT_EXECUTOR_H
#define LEAT_EXECUTOR_H

#include "leat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct leat_executor {
  uint64_t size; /* sizeof(leat_executor) */
  void* context; /* for each call */
  /* The XML wants `schedule`, "static", "dynamic" or "dynamic-paper", with so many `cores` for analyses. In each run once, while
   * leat_init waits, on a thread of Leat's own. With "static" run() is not called: those cores are Leat's. Returns 0; any other value
   * says that it cannot, and leat_init fails. */
  int (*start)(void* context, const char* schedule, int cores);
  /* Calls piece(arg, i) once for each i from 0 to pieces - 1, on any threads, several at a time, and returns when all of them have
   * returned. After one that has not returned 0, those that are not begun may be left out. is_late(arg), from any thread until then, is
   * not 0 once the simulation has ended another iteration, which waits for these pieces: those who did them only where nothing else was
   * to do may now let the simulation have less. From several threads at the same time, all of Leat's own. */
  void (*run)(void* context, uint64_t pieces, int (*piece)(void* arg, uint64_t number),
              int (*is_late)(void* arg), void* arg);
} leat_executor;

/* For the runs that begin afterwards; before leat_init, on each rank that may host the server. The table is copied, what it leads to
 * lives until the process ends. NULL: none, as at first. May be called from constructors of static objects. With LEAT=off and
 * libleat_stub it does nothing.
 * Errors: ARGUMENT. */
LEAT_API leat_status leat_set_executor(const leat_executor* executor);

#ifdef __cplusplus
}
#endif

#endif
