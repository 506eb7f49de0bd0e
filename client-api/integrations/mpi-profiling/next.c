/* SPDX-License-Identifier: Apache-2.0 */
#include "client-api/integrations/mpi-profiling/next.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const char kHere;

static int is_ours(void* function) {
  Dl_info its, ours;
  return dladdr(function, &its) && dladdr(&kHere, &ours) && its.dli_fbase == ours.dli_fbase;
}

/* Where MPI came with a library that was loaded later, for itself alone (an extension of Python), only that one sees it. */
static void* seen_by(const void* caller, const char* name) {
  Dl_info library;
  void* handle;
  void* found;
  if (!dladdr(caller, &library)) return NULL;
  handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return NULL;
  found = dlsym(handle, name);
  (void)dlclose(handle); /* it stays as long as its own code runs */
  return found && !is_ours(found) ? found : NULL;
}

void* next_symbol(const char* name, const void* caller) {
  void* const found = dlsym(RTLD_NEXT, name);
  return found ? found : seen_by(caller, name);
}

void* next_data(const char* name, const void* caller) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  return found ? found : seen_by(caller, name);
}

void next_find(struct next* call, const void* caller) {
  void* const found = next_symbol(call->name, caller);
  if (!found) {
    fprintf(stderr,
            "leat: libleat_pmpi finds no %s behind itself: MPI must be a shared library, and stand "
            "behind -lleat_pmpi where "
            "that is linked\n",
            call->name);
    abort();
  }
  atomic_store_explicit(&call->function, found, memory_order_relaxed);
}
