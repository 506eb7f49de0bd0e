/* SPDX-License-Identifier: Apache-2.0 */
/* LEAT_PMPI_TRACE=FOLDER: when each collective of MPI's main thread began and how long it took, a file per rank. */
#pragma once

#include <stdint.h>

int trace_is_wanted(void);
int64_t trace_now_ns(void);
/* One that ends now. Of other threads than MPI's main one nothing is taken. `caller`: an address in the library that calls MPI. */
void trace_add(int64_t begun_ns, const void* caller);
/* Writes what there is, and ends. */
void trace_end(void);
