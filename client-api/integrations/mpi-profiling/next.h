/* SPDX-License-Identifier: Apache-2.0 */
/* What a wrapped function would have been without this library. */
#pragma once

#include <stdatomic.h>

struct next {
  const char* name;
  _Atomic(void*) function;
};

static inline void* next_of(struct next* call) {
  return atomic_load_explicit(&call->function, memory_order_relaxed);
}
static inline int next_is_known(struct next* call) { return next_of(call) != 0; }

/* From any thread. `caller`: an address in the library that calls it. Ends the program when there is none. */
void next_find(struct next* call, const void* caller);

/* NULL when there is none. Data may lie in the program itself, as a copy of the library's. */
void* next_symbol(const char* name, const void* caller);
void* next_data(const char* name, const void* caller);
