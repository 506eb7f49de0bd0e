/* SPDX-License-Identifier: Apache-2.0 */
/* Of the interface between tools and runtimes of OpenMP what is used here, as chapter 19 of OpenMP 5.2 has it: so no header of a
 * runtime is needed. */
#pragma once

#include <stdint.h>

typedef union ompt_data_t {
  uint64_t value; /* 0 at first */
  void* ptr;
} ompt_data_t;

typedef void (*ompt_callback_t)(void);
typedef ompt_callback_t (*ompt_function_lookup_t)(const char* name);

typedef struct ompt_start_tool_result_t {
  int (*initialize)(ompt_function_lookup_t lookup, int device,
                    ompt_data_t* tool); /* 0: it does without the tool */
  void (*finalize)(ompt_data_t* tool);
  ompt_data_t tool;
} ompt_start_tool_result_t;

enum { ompt_callback_parallel_begin = 3, ompt_callback_parallel_end = 4 };

/* Called by the thread that comes to the region. `threads`: how many it asks for; `place`: where in the code. */
typedef void (*ompt_callback_parallel_begin_t)(ompt_data_t* task, const void* frame,
                                               ompt_data_t* region, unsigned threads, int flags,
                                               const void* place);
typedef void (*ompt_callback_parallel_end_t)(ompt_data_t* region, ompt_data_t* task, int flags,
                                             const void* place);

enum { ompt_set_always = 5 };
typedef int (*ompt_set_callback_t)(int event, ompt_callback_t callback);
