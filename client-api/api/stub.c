/* SPDX-License-Identifier: Apache-2.0 */
/* libleat_stub: every call with sound arguments succeeds and does nothing but leat_alloc, which gives memory to compute in, as with
 * LEAT=off, but decided at link time. calls.def has them all; those that do something are written here. */
#define LEAT_NO_TYPE_CHECK
#include <stddef.h>
#include <stdlib.h>

#include "client-api/api/leat.h"
#include "client-api/api/leat_build.h"
#include "lib/os/scratch.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define LEAT_STUB_OK(function, arguments) \
  LEAT_API leat_status leat_##function arguments { return LEAT_OK; }
#define LEAT_STUB_UNWANTED(function, arguments) \
  LEAT_API leat_status leat_##function arguments { return LEAT_UNWANTED; }
#define LEAT_STUB_OWN(function, arguments)
#define LEAT_CALL(off, name, function, arguments, by_hand, purpose) \
  LEAT_STUB_##off(function, arguments)
#define LEAT_C_CALL(off, function, arguments) LEAT_STUB_##off(function, arguments)
#include "client-api/api/calls.def"

leat_status leat_split_group(const char* config, const leat_group* group, int32_t* divided) {
  if (divided) *divided = 0;
  return LEAT_OK;
}

leat_status leat_alloc(const char* variable, void** data) {
  return leat_alloc_block(variable, 0, data);
}

leat_status leat_alloc_block(const char* variable, uint32_t block, void** data) {
  if (!data) return LEAT_ERROR_ARGUMENT;
  *data = scratch_memory(variable, block);
  return *data ? LEAT_OK : LEAT_ERROR_MEMORY;
}

leat_status leat_alloc_array(const char* variable, uint32_t block, leat_array* array) {
  if (!array) return LEAT_ERROR_ARGUMENT;
  array->data = NULL;
  return LEAT_UNWANTED;
}

leat_status leat_commit(const char* variable) { return leat_commit_block(variable, 0); }

leat_status leat_commit_block(const char* variable, uint32_t block) {
  scratch_commit(variable, block);
  return LEAT_OK;
}

leat_status leat_describe(const char* config, char** text) {
  if (!text) return LEAT_ERROR_ARGUMENT;
  *text = (char*)calloc(1, 1);
  return *text ? LEAT_OK : LEAT_ERROR_MEMORY;
}

int64_t leat_iteration(void) { return -1; }
int32_t leat_memory_node(void) { return 0; }
const char* leat_last_error(void) { return ""; }

const char* leat_status_name(leat_status status) {
  switch ((int)status) {
#define LEAT_STATUS(name, value, meaning) \
  case value:                             \
    return "LEAT_" #name;
#include "lib/base/status.def"
#undef LEAT_STATUS
  }
  return "not a leat_status";
}
