/* SPDX-License-Identifier: Apache-2.0 */
/* libleat_stub: every call with sound arguments succeeds and does nothing but leat_alloc, which gives memory to compute in, as with LEAT=off, but decided at link time.
 */
#define LEAT_NO_TYPE_CHECK
#include "client-api/api/leat.h"
#include "client-api/api/leat_describe.h"
#include "client-api/api/leat_executor.h"

#include <stddef.h>
#include <stdlib.h>

#include "lib/platform/scratch.h"

LEAT_API leat_status leat_init(const char* config) { return (void)config, LEAT_OK; }
LEAT_API leat_status leat_init_ranks(const char* config, const leat_ranks* ranks) {
  return (void)config, (void)ranks, LEAT_OK;
}
LEAT_API leat_status leat_split_group(const char* config, const leat_group* group,
                                      int32_t* divided) {
  if (divided) *divided = 0;
  return (void)config, (void)group, LEAT_OK;
}
LEAT_API leat_status leat_init_group(const char* config, const leat_group* group) {
  return (void)config, (void)group, LEAT_OK;
}
LEAT_API int32_t leat_memory_node(void) { return 0; }
LEAT_API leat_status leat_split_end(void) { return LEAT_OK; }
LEAT_API leat_status leat_finalize(void) { return LEAT_OK; }
LEAT_API leat_status leat_write(const char* variable, const void* data) {
  return (void)variable, (void)data, LEAT_OK;
}
LEAT_API leat_status leat_write_block(const char* variable, uint32_t block, const void* data) {
  return (void)variable, (void)block, (void)data, LEAT_OK;
}
LEAT_API leat_status leat_write_typed(const char* variable, uint32_t block, const void* data,
                                      int32_t type) {
  return (void)variable, (void)block, (void)data, (void)type, LEAT_OK;
}
LEAT_API leat_status leat_alloc(const char* variable, void** data) {
  return leat_alloc_block(variable, 0, data);
}
LEAT_API leat_status leat_alloc_block(const char* variable, uint32_t block, void** data) {
  if (!data) return LEAT_ERROR_ARGUMENT;
  *data = scratch_memory(variable, block);
  return *data ? LEAT_OK : LEAT_ERROR_MEMORY;
}
LEAT_API leat_status leat_write_array(const char* variable, uint32_t block,
                                      const leat_array* array) {
  return (void)variable, (void)block, (void)array, LEAT_OK;
}
LEAT_API leat_status leat_alloc_array(const char* variable, uint32_t block, leat_array* array) {
  if (!array) return LEAT_ERROR_ARGUMENT;
  return (void)variable, (void)block, array->data = NULL, LEAT_UNWANTED;
}
LEAT_API leat_status leat_commit(const char* variable) { return leat_commit_block(variable, 0); }
LEAT_API leat_status leat_commit_block(const char* variable, uint32_t block) {
  return (void)scratch_commit(variable, block), LEAT_OK;
}
LEAT_API leat_status leat_set_extent(const char* variable, uint32_t block, const int64_t* extent) {
  return (void)variable, (void)block, (void)extent, LEAT_OK;
}
LEAT_API leat_status leat_set_position(const char* variable, uint32_t block,
                                       const int64_t* position) {
  return (void)variable, (void)block, (void)position, LEAT_OK;
}
LEAT_API leat_status leat_set_extent_list(const char* variable, uint32_t block,
                                          const leat_list* extent) {
  return (void)variable, (void)block, (void)extent, LEAT_OK;
}
LEAT_API leat_status leat_set_position_list(const char* variable, uint32_t block,
                                            const leat_list* position) {
  return (void)variable, (void)block, (void)position, LEAT_OK;
}
LEAT_API leat_status leat_set_level(const char* mesh, uint32_t block, int32_t level,
                                    const int64_t* position) {
  return (void)mesh, (void)block, (void)level, (void)position, LEAT_OK;
}
LEAT_API leat_status leat_set_level_list(const char* mesh, uint32_t block, int32_t level,
                                         const leat_list* position) {
  return (void)mesh, (void)block, (void)level, (void)position, LEAT_OK;
}
LEAT_API leat_status leat_end_iteration(void) { return LEAT_OK; }
LEAT_API int64_t leat_iteration(void) { return -1; }
LEAT_API leat_status leat_signal(const char* event) { return (void)event, LEAT_OK; }
LEAT_API leat_status leat_idle_begin(const char* site) { return (void)site, LEAT_OK; }
LEAT_API leat_status leat_idle_end(void) { return LEAT_OK; }
LEAT_API leat_status leat_after_collective(int32_t ranks) { return (void)ranks, LEAT_OK; }
LEAT_API leat_status leat_set_int(const char* parameter, int64_t value) {
  return (void)parameter, (void)value, LEAT_OK;
}
LEAT_API leat_status leat_set_double(const char* parameter, double value) {
  return (void)parameter, (void)value, LEAT_OK;
}
LEAT_API leat_status leat_set_string(const char* parameter, const char* value) {
  return (void)parameter, (void)value, LEAT_OK;
}
LEAT_API leat_status leat_get_int(const char* parameter, int64_t* value) {
  return (void)parameter, (void)value, LEAT_OK;
}
LEAT_API leat_status leat_get_double(const char* parameter, double* value) {
  return (void)parameter, (void)value, LEAT_OK;
}
LEAT_API leat_status leat_get_string(const char* parameter, char* text, uint64_t size,
                                     uint64_t* needed) {
  return (void)parameter, (void)text, (void)size, (void)needed, LEAT_OK;
}
LEAT_API leat_status leat_wanted(const char* variable) { return (void)variable, LEAT_UNWANTED; }
LEAT_API const char* leat_last_error(void) { return ""; }

LEAT_API const char* leat_status_name(leat_status status) {
  switch ((int)status) {
#define LEAT_STATUS(name, value, meaning) \
  case value:                             \
    return "LEAT_" #name;
#include "lib/base/status.def"
#undef LEAT_STATUS
  }
  return "not a leat_status";
}
LEAT_API leat_status leat_describe(const char* config, char** text) {
  if (!text) return LEAT_ERROR_ARGUMENT;
  *text = calloc(1, 1);
  return (void)config, *text ? LEAT_OK : LEAT_ERROR_MEMORY;
}
LEAT_API leat_status leat_set_executor(const leat_executor* executor) {
  return (void)executor, LEAT_OK;
}
