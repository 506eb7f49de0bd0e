/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libleat_ompt: a tool that runtimes of OpenMP load. What lies between two outermost parallel regions of a thread is an idle
 * phase: one thread computes, the others of its team have nothing to do. Leat counts those of the thread of leat_init.
 */
#include <leat.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "client-api/integrations/openmp/interface.h"

static _Thread_local int depth;
static _Thread_local const void* place; /* of the outermost region */

/* LLVM's threads look for work for 200 ms behind each region unless they are told not to. */
static void say_once_that_threads_spin(void) {
  static atomic_int was_said;
  const char* const policy = getenv("OMP_WAIT_POLICY");
  if (atomic_load_explicit(&was_said, memory_order_relaxed) || leat_iteration() < 0) return;
  if (atomic_exchange(&was_said, 1)) return;
  if (getenv("KMP_BLOCKTIME") || (policy && strcasecmp(policy, "passive") == 0)) return;
  fputs(
      "leat: libleat_ompt: threads of OpenMP keep their cores busy for 200 ms behind each parallel "
      "region, in which plugins with "
      "runs=\"harvest\" cannot work: set OMP_WAIT_POLICY=passive\n",
      stderr);
}

/* A region of one thread is part of the phase. */
static void begin_region(ompt_data_t* task, const void* frame, ompt_data_t* region,
                         unsigned threads, int flags, const void* where) {
  (void)task, (void)frame, (void)flags;
  if (threads == 1) return;
  region->value = 1;
  if (depth++ > 0) return;
  place = where;
  (void)leat_idle_end();
}

static void end_region(ompt_data_t* region, ompt_data_t* task, int flags, const void* where) {
  char site[2 * sizeof place + sizeof "0x"];
  (void)task, (void)flags, (void)where;
  if (region->value == 0 || --depth > 0) return;
  say_once_that_threads_spin();
  (void)snprintf(site, sizeof site, "%p", place);
  (void)leat_idle_begin(site);
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t* tool) {
  const ompt_callback_parallel_begin_t begin = begin_region;
  const ompt_callback_parallel_end_t end = end_region;
  const ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  (void)device, (void)tool;
  if (set && set(ompt_callback_parallel_begin, (ompt_callback_t)begin) == ompt_set_always &&
      set(ompt_callback_parallel_end, (ompt_callback_t)end) == ompt_set_always)
    return 1;
  fputs(
      "leat: libleat_ompt: this runtime of OpenMP does not tell of all parallel regions: no idle "
      "phases are marked\n",
      stderr);
  return 0;
}

static void finalize(ompt_data_t* tool) { (void)tool; }

LEAT_API ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime);
LEAT_API ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime) {
  static ompt_start_tool_result_t tool = {initialize, finalize, {0}};
  (void)version, (void)runtime;
  return &tool;
}
