/* SPDX-License-Identifier: Apache-2.0 */
/* Memory to compute in where there is no segment: LEAT=off and libleat_stub. Nobody has read the XML then, so nobody
 * knows how large a block is: each has room for as much as a block can have on this machine at all, of which the system
 * gives only the pages that are written to. */
#ifndef LEAT_PLATFORM_SCRATCH_H
#define LEAT_PLATFORM_SCRATCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Aligned to a page, uninitialised, and different for each block that has some; the same again until
 * scratch_commit. NULL when the address space (ulimit -v) has no room left. From any thread. */
__attribute__((visibility("hidden"))) void* scratch_memory(const char* variable, uint32_t block);
/* The memory may go to the next block: it stays as warm as a segment's. 0 when the block had none. */
__attribute__((visibility("hidden"))) int scratch_commit(const char* variable, uint32_t block);

#ifdef __cplusplus
}
#endif

#endif
