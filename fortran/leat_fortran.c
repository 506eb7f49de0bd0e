/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the Fortran module calls: C descriptors (ISO_Fortran_binding.h, Fortran 2018, 18.5) become leat_array. An array
 * section arrives as it is, with its strides, and is packed by the one copy into the segment.
 */
#include <ISO_Fortran_binding.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leat_build.h"

enum { kNameBytes = 4097 }; /* the longest path that Linux takes */

/* A Fortran string without its trailing blanks, as a C string; cut at kNameBytes, longer than any name. */
static const char* text_of(const CFI_cdesc_t* string, char* to) {
  size_t length = string->elem_len < kNameBytes ? string->elem_len : kNameBytes - 1;
  memcpy(to, string->base_addr, length);
  while (length > 0 && to[length - 1] == ' ') --length;
  to[length] = '\0';
  return to;
}

/* For calls without stat=: the error has been printed, and the run goes on unless LEAT_ON_ERROR=abort. */
void leat_fortran_abort_if_asked(const int* status) {
  const char* on_error = getenv("LEAT_ON_ERROR");
  if (*status >= 0 || !on_error || strcmp(on_error, "abort") != 0) return;
  fprintf(stderr, "leat: %s\nleat: aborting, because LEAT_ON_ERROR=abort\n", leat_last_error());
  abort();
}

int leat_fortran_split(const CFI_cdesc_t* config, const leat_group* group, int32_t* divided) {
  char path[kNameBytes];
  return leat_split_group(text_of(config, path), group, divided);
}

int leat_fortran_init_group(const CFI_cdesc_t* config, const leat_group* group) {
  char path[kNameBytes];
  return leat_init_group(text_of(config, path), group);
}

struct type {
  int32_t type;
  char name[24];
};

static struct type made(int32_t type, const char* name, size_t kind) {
  struct type t;
  t.type = type;
  snprintf(t.name, sizeof t.name, "%s(%d)", name, (int)kind);
  return t;
}

static int32_t integer_of(size_t bytes) {
  return bytes == 1   ? LEAT_TYPE_INT8
         : bytes == 2 ? LEAT_TYPE_INT16
         : bytes == 4 ? LEAT_TYPE_INT32
                      : LEAT_TYPE_INT64;
}

static int is_logical(CFI_type_t type) {
#ifdef CFI_type_Logical /* gfortran: kinds beside C's _Bool */
  return (type & CFI_type_mask) == CFI_type_Logical;
#else
  return type == CFI_type_Bool;
#endif
}

/* type 0 for what Leat does not have. Logicals are stored as integers of their size. */
static struct type type_of(const CFI_cdesc_t* data) {
  const size_t bytes = data->elem_len;
  if (is_logical(data->type)) return made(integer_of(bytes), "logical", bytes);
  switch (data->type) {
    case CFI_type_int8_t:
    case CFI_type_int16_t:
    case CFI_type_int32_t:
    case CFI_type_int64_t:
      return made(integer_of(bytes), "integer", bytes);
    case CFI_type_float:
      return made(LEAT_TYPE_FLOAT32, "real", bytes);
    case CFI_type_double:
      return made(LEAT_TYPE_FLOAT64, "real", bytes);
    case CFI_type_float_Complex:
      return made(LEAT_TYPE_COMPLEX64, "complex", bytes / 2);
    case CFI_type_double_Complex:
      return made(LEAT_TYPE_COMPLEX128, "complex", bytes / 2);
    case CFI_type_char:
      return made(LEAT_TYPE_CHAR, "character", bytes);
    default:
      return made(0, "a type that Leat does not store, of bytes", bytes);
  }
}

/* character(len=n), n > 1, has its letters as one more dimension, the fastest. */
static leat_array array_of(const CFI_cdesc_t* data, const struct type* type) {
  leat_array array;
  const int letters = type->type == LEAT_TYPE_CHAR && data->elem_len > 1;
  memset(&array, 0, sizeof array);
  array.struct_size = sizeof array;
  array.data = data->base_addr;
  array.type = type->type;
  array.type_name = type->name;
  array.column_major = 1;
  array.dims = data->rank + letters;
  if (letters) {
    array.extent[0] = (int64_t)data->elem_len;
    array.stride[0] = 1;
  }
  for (int d = 0; d < data->rank && d + letters < LEAT_MAX_DIMS; ++d) {
    array.extent[d + letters] = data->dim[d].extent;
    array.stride[d + letters] = data->dim[d].sm;
  }
  return array;
}

int leat_fortran_init_ranks(const CFI_cdesc_t* config, const int* rank, const int* size,
                            const int* node_rank, const int* node_size,
                            const CFI_cdesc_t* session) {
  char path[kNameBytes], name[kNameBytes];
  leat_ranks ranks;
  ranks.struct_size = sizeof ranks;
  ranks.rank = *rank;
  ranks.size = *size;
  ranks.node_rank = *node_rank;
  ranks.node_size = *node_size;
  ranks.session = *text_of(session, name) ? name : NULL;
  return leat_init_ranks(text_of(config, path), &ranks);
}

int leat_fortran_write(const CFI_cdesc_t* variable, const CFI_cdesc_t* data, const int* block) {
  char name[kNameBytes];
  const struct type type = type_of(data);
  const leat_array array = array_of(data, &type);
  return leat_write_array(text_of(variable, name), (uint32_t)*block, &array);
}

int leat_fortran_write_any(const CFI_cdesc_t* name, const CFI_cdesc_t* data) {
  char text[kNameBytes];
  const struct type type = type_of(data);
  const leat_array array = array_of(data, &type);
  return leat_write_any_array(text_of(name, text), &array);
}

int leat_fortran_read(const CFI_cdesc_t* variable, const CFI_cdesc_t* data, const int* block) {
  char name[kNameBytes];
  const struct type type = type_of(data);
  const leat_array array = array_of(data, &type);
  return leat_read_array(text_of(variable, name), (uint32_t)*block, &array);
}

enum { kMostArrays = 8 };

/* Those that are there. */
static int of_all(leat_status (*call)(const char*, const leat_array*, int32_t),
                  const CFI_cdesc_t* variables, const CFI_cdesc_t* const* data) {
  char names[kNameBytes];
  struct type types[kMostArrays];
  leat_array arrays[kMostArrays];
  int count = 0;
  for (int i = 0; i < kMostArrays; ++i) {
    if (!data[i]) continue;
    types[count] = type_of(data[i]);
    arrays[count] = array_of(data[i], &types[count]);
    ++count;
  }
  return call(text_of(variables, names), arrays, count);
}

int leat_fortran_write_all(const CFI_cdesc_t* variables, const CFI_cdesc_t* a, const CFI_cdesc_t* b,
                           const CFI_cdesc_t* c, const CFI_cdesc_t* d, const CFI_cdesc_t* e,
                           const CFI_cdesc_t* f, const CFI_cdesc_t* g, const CFI_cdesc_t* h) {
  const CFI_cdesc_t* data[] = {a, b, c, d, e, f, g, h};
  return of_all(leat_write_arrays, variables, data);
}

int leat_fortran_read_all(const CFI_cdesc_t* variables, const CFI_cdesc_t* a, const CFI_cdesc_t* b,
                          const CFI_cdesc_t* c, const CFI_cdesc_t* d, const CFI_cdesc_t* e,
                          const CFI_cdesc_t* f, const CFI_cdesc_t* g, const CFI_cdesc_t* h) {
  const CFI_cdesc_t* data[] = {a, b, c, d, e, f, g, h};
  return of_all(leat_read_arrays, variables, data);
}

/* For the leat_alloc of a Fortran pointer of this type and rank. *memory stays NULL unless it is what is declared. */
int leat_fortran_alloc(const CFI_cdesc_t* variable, const int* type, const int* rank, void** memory,
                       int64_t* extent, const int* block) {
  char name[kNameBytes];
  leat_array array;
  leat_status status;
  memset(&array, 0, sizeof array);
  array.struct_size = sizeof array;
  array.column_major = 1;
  *memory = NULL;
  status = leat_alloc_array(text_of(variable, name), (uint32_t)*block, &array);
  if (status == LEAT_OK && (array.type != *type || array.dims != *rank)) {
    /* Says what is declared and what came: a write of nothing like it does. */
    leat_array wrong = array;
    wrong.type = *type;
    wrong.dims = *rank;
    status = leat_write_array(name, (uint32_t)*block, &wrong);
  } else if (status == LEAT_OK) {
    *memory = array.data;
    memcpy(extent, array.extent, sizeof(int64_t) * (size_t)*rank);
  }
  return status;
}

int leat_fortran_get_string(const CFI_cdesc_t* parameter, const CFI_cdesc_t* value) {
  char name[kNameBytes];
  char* text = malloc(value->elem_len + 1);
  uint64_t needed = 0;
  leat_status status = LEAT_ERROR_SYSTEM;
  if (text) status = leat_get_string(text_of(parameter, name), text, value->elem_len + 1, &needed);
  if (status == LEAT_OK && needed > 0) { /* 0 with LEAT=off: the value stays */
    memset(value->base_addr, ' ', value->elem_len);
    memcpy(value->base_addr, text, needed - 1);
  }
  free(text);
  return status;
}

int leat_fortran_wanted(const CFI_cdesc_t* variable) {
  char name[kNameBytes];
  return leat_wanted(text_of(variable, name)) == LEAT_OK;
}
