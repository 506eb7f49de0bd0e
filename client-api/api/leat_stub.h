/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leat without Leat: all of leat.h and leat_build.h in one file, which a code takes along and includes where Leat is not installed. Calls
 * succeed and do nothing, as with libleat_stub; leat_alloc gives memory to compute in. leat.h says what each call promises.
 *
 *     #ifdef HAVE_LEAT
 *     #include <leat.h>
 *     #else
 *     #include "leat_stub.h"
 *     #endif
 *
 * In an MPI code include mpi.h first: leat_init_mpi and leat_split are there then, too. C99 or C++11, GCC or Clang; files that
 * include it may be linked together, but not with libleat.
 * Made by client-api/api/generate_calls.py: change calls.def, leat.h or stub.c.
 */
/* clang-format off */
#ifndef LEAT_STUB_H
#define LEAT_STUB_H
#define LEAT_H
#define LEAT_BUILD_H
#define LEAT_MPI_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* One of each in a program, whichever files include this, and none that others see. */
#define LEAT_API __attribute__((weak, visibility("hidden")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum leat_status {
  LEAT_OK = 0,
  LEAT_UNWANTED = 1,
  LEAT_DROPPED = 2,
  LEAT_SERVED = 3,
  LEAT_ERROR_ARGUMENT = -1,
  LEAT_ERROR_STATE = -2,
  LEAT_ERROR_CONFIG = -3,
  LEAT_ERROR_UNKNOWN_NAME = -4,
  LEAT_ERROR_TYPE = -5,
  LEAT_ERROR_SHAPE = -6,
  LEAT_ERROR_TOO_LARGE = -7,
  LEAT_ERROR_FULL = -8,
  LEAT_ERROR_TIMEOUT = -9,
  LEAT_ERROR_SERVER = -10,
  LEAT_ERROR_VERSION = -11,
  LEAT_ERROR_MEMORY = -12,
  LEAT_ERROR_SYSTEM = -13,
  LEAT_ERROR_LOST = -14,
  LEAT_ERROR_INTERNAL = -15
} leat_status;

typedef struct leat_ranks {
  uint64_t struct_size;
  int32_t rank;
  int32_t size;
  int32_t node_rank;
  int32_t node_size;
  const char* session;
} leat_ranks;

typedef enum leat_type {
  LEAT_TYPE_INT8 = 1, LEAT_TYPE_INT16 = 2, LEAT_TYPE_INT32 = 3, LEAT_TYPE_INT64 = 4,
  LEAT_TYPE_UINT8 = 5, LEAT_TYPE_UINT16 = 6, LEAT_TYPE_UINT32 = 7, LEAT_TYPE_UINT64 = 8,
  LEAT_TYPE_FLOAT32 = 9, LEAT_TYPE_FLOAT64 = 10, LEAT_TYPE_COMPLEX64 = 11, LEAT_TYPE_COMPLEX128 = 12,
  LEAT_TYPE_CHAR = 13
} leat_type;

LEAT_API leat_status leat_init(const char* config);
LEAT_API leat_status leat_init_ranks(const char* config, const leat_ranks* ranks);

LEAT_API leat_status leat_finalize(void);

LEAT_API leat_status leat_write(const char* variable, const void* data);

LEAT_API leat_status leat_write_block(const char* variable, uint32_t block, const void* data);

LEAT_API leat_status leat_write_typed(const char* variable, uint32_t block, const void* data, int32_t type);

LEAT_API leat_status leat_write_any(const char* name, const void* data, int32_t type, int32_t ndim, const int64_t* extents);

LEAT_API leat_status leat_alloc(const char* variable, void** data);
LEAT_API leat_status leat_alloc_block(const char* variable, uint32_t block, void** data);

LEAT_API leat_status leat_commit(const char* variable);
LEAT_API leat_status leat_commit_block(const char* variable, uint32_t block);

LEAT_API leat_status leat_set_extent(const char* variable, uint32_t block, const int64_t* extent);

LEAT_API leat_status leat_set_position(const char* variable, uint32_t block, const int64_t* position);

LEAT_API leat_status leat_set_level(const char* mesh, uint32_t block, int32_t level, const int64_t* position);

LEAT_API leat_status leat_restart_step(int64_t* iteration);

LEAT_API leat_status leat_read(const char* variable, void* data);
LEAT_API leat_status leat_read_block(const char* variable, uint32_t block, void* data);

LEAT_API leat_status leat_read_typed(const char* variable, uint32_t block, void* data, int32_t type);

LEAT_API leat_status leat_end_iteration(void);

LEAT_API int64_t leat_iteration(void);

LEAT_API leat_status leat_start_at(int64_t iteration);

LEAT_API leat_status leat_begin_iteration(int64_t iteration);

LEAT_API leat_status leat_count(const char* variable, int64_t* count);

LEAT_API leat_status leat_idle_begin(const char* site);
LEAT_API leat_status leat_idle_end(void);

LEAT_API leat_status leat_after_collective(int32_t ranks);

LEAT_API leat_status leat_signal(const char* event);

LEAT_API leat_status leat_set_int(const char* parameter, int64_t value);
LEAT_API leat_status leat_set_double(const char* parameter, double value);

LEAT_API leat_status leat_set_ints(const char* parameters, const int64_t* values);
LEAT_API leat_status leat_set_doubles(const char* parameters, const double* values);
LEAT_API leat_status leat_set_string(const char* parameter, const char* value);

LEAT_API leat_status leat_get_int(const char* parameter, int64_t* value);
LEAT_API leat_status leat_get_double(const char* parameter, double* value);

LEAT_API leat_status leat_get_string(const char* parameter, char* text, uint64_t size, uint64_t* needed);

LEAT_API leat_status leat_wanted(const char* variable);

LEAT_API const char* leat_last_error(void);

LEAT_API const char* leat_status_name(leat_status status);

#define LEAT_MAX_DIMS 8

typedef struct leat_array {
  uint64_t struct_size;
  void* data;
  int32_t type;
  int32_t dims;
  int64_t extent[LEAT_MAX_DIMS];
  int64_t stride[LEAT_MAX_DIMS];
  int32_t column_major;
  int32_t reserved;
  const char* type_name;
} leat_array;

typedef struct leat_list {
  uint64_t struct_size;
  const int64_t* numbers;
  int32_t count;
  int32_t column_major;
} leat_list;

typedef struct leat_reals {
  uint64_t struct_size;
  const double* numbers;
  int32_t count;
  int32_t reserved;
} leat_reals;

LEAT_API leat_status leat_write_array(const char* variable, uint32_t block, const leat_array* array);

LEAT_API leat_status leat_write_arrays(const char* variables, const leat_array* arrays, int32_t count);

LEAT_API leat_status leat_write_any_array(const char* name, const leat_array* array);

LEAT_API leat_status leat_read_array(const char* variable, uint32_t block, const leat_array* array);

LEAT_API leat_status leat_read_arrays(const char* variables, const leat_array* arrays, int32_t count);

LEAT_API leat_status leat_alloc_array(const char* variable, uint32_t block, leat_array* array);

LEAT_API leat_status leat_set_extent_list(const char* variable, uint32_t block, const leat_list* extent);
LEAT_API leat_status leat_set_position_list(const char* variable, uint32_t block, const leat_list* position);

LEAT_API leat_status leat_set_ints_list(const char* parameters, const leat_list* values);
LEAT_API leat_status leat_set_doubles_list(const char* parameters, const leat_reals* values);
LEAT_API leat_status leat_set_level_list(const char* mesh, uint32_t block, int32_t level, const leat_list* position);

typedef struct leat_group {
  uint64_t struct_size;
  void* context;
  int32_t rank, size;

  int32_t (*arrive)(void* context, int32_t begin);

  void (*broadcast)(void* context, void* data, int32_t bytes, int32_t root);

  void (*least)(void* context, int64_t* value);

  void (*node)(void* context, int32_t* rank, int32_t* size);

  void (*divide)(void* context, int32_t server, int32_t* rank, int32_t* size);

  void* (*plugins)(void* context, int32_t serves, const char** why);
} leat_group;

LEAT_API leat_status leat_split_group(const char* config, const leat_group* group, int32_t* divided);

LEAT_API leat_status leat_init_group(const char* config, const leat_group* group);

LEAT_API int32_t leat_memory_node(void);

LEAT_API leat_status leat_split_end(void);

LEAT_API leat_status leat_describe(const char* config, char** text);

typedef struct leat_executor {
  uint64_t size;
  void* context;

  int (*start)(void* context, const char* schedule, int cores);

  void (*run)(void* context, uint64_t pieces, int (*piece)(void* arg, uint64_t number),
              int (*is_late)(void* arg), void* arg);
} leat_executor;

LEAT_API leat_status leat_set_executor(const leat_executor* executor);

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

LEAT_API void* leat_scratch_memory(const char* variable, uint32_t block);
LEAT_API int leat_scratch_commit(const char* variable, uint32_t block);

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS 0x20
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0x4000
#endif

struct leat_scratch_region {
  struct leat_scratch_region* next;
  void* memory;
  uint32_t block;
  char* variable;
};

LEAT_API pthread_mutex_t leat_scratch_lock = PTHREAD_MUTEX_INITIALIZER;
LEAT_API struct leat_scratch_region* leat_scratch_regions = NULL;
LEAT_API unsigned leat_scratch_count = 0;

static inline size_t leat_scratch_most_bytes(void) {
  const size_t enough = (size_t)4 << 30;
  const unsigned of_a_size = 16, halvings = leat_scratch_count / of_a_size;
  struct rlimit space;
  size_t bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  bytes = halvings < 16 && (bytes >> halvings) > enough ? bytes >> halvings
          : bytes < enough                              ? bytes
                                                        : enough;
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    const size_t share = space.rlim_cur / 8 >> (leat_scratch_count < 16 ? leat_scratch_count : 16);
    if (bytes > share) bytes = share;
  }
  return bytes;
}

static inline void* leat_scratch_reserve(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), least = (size_t)64 << 20;
  size_t bytes = leat_scratch_most_bytes();
  for (;; bytes /= 8) {
    void* memory = mmap(NULL, (bytes < least ? least : bytes) / page * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) return memory;
    if (bytes <= least) return NULL;
  }
}

static inline struct leat_scratch_region* leat_scratch_find(const char* variable, uint32_t block) {
  struct leat_scratch_region* region = leat_scratch_regions;
  while (region &&
         !(region->variable && region->block == block && strcmp(region->variable, variable) == 0))
    region = region->next;
  return region;
}

static inline struct leat_scratch_region* leat_scratch_take_free(void) {
  struct leat_scratch_region* region = leat_scratch_regions;
  while (region && region->variable) region = region->next;
  if (region) return region;
  region = (struct leat_scratch_region*)calloc(1, sizeof *region);
  if (!region) return NULL;
  region->memory = leat_scratch_reserve();
  if (!region->memory) {
    free(region);
    return NULL;
  }
  ++leat_scratch_count;
  region->next = leat_scratch_regions;
  return leat_scratch_regions = region;
}

static inline void leat_scratch_move_to_front(struct leat_scratch_region* region) {
  struct leat_scratch_region** link = &leat_scratch_regions;
  while (*link != region) link = &(*link)->next;
  *link = region->next;
  region->next = leat_scratch_regions;
  leat_scratch_regions = region;
}

static inline char* leat_scratch_copy(const char* text) {
  const size_t bytes = strlen(text) + 1;
  char* copy = (char*)malloc(bytes);
  return copy ? (char*)memcpy(copy, text, bytes) : NULL;
}

void* leat_scratch_memory(const char* variable, uint32_t block) {
  void* memory = NULL;
  struct leat_scratch_region* region;
  pthread_mutex_lock(&leat_scratch_lock);
  region = leat_scratch_find(variable, block);
  if (!region && (region = leat_scratch_take_free())) {
    region->block = block;
    region->variable = leat_scratch_copy(variable);
  }
  if (region && region->variable) memory = region->memory;
  pthread_mutex_unlock(&leat_scratch_lock);
  return memory;
}

int leat_scratch_commit(const char* variable, uint32_t block) {
  struct leat_scratch_region* region;
  pthread_mutex_lock(&leat_scratch_lock);
  region = leat_scratch_find(variable, block);
  if (region) {
    free(region->variable);
    region->variable = NULL;
    leat_scratch_move_to_front(region);
  }
  pthread_mutex_unlock(&leat_scratch_lock);
  return region != NULL;
}

leat_status leat_init(const char* config) { return LEAT_OK; }
leat_status leat_init_ranks(const char* config, const leat_ranks* ranks) { return LEAT_OK; }
leat_status leat_finalize(void) { return LEAT_OK; }
leat_status leat_write_array(const char* variable, uint32_t block, const leat_array* array) { return LEAT_OK; }
leat_status leat_write(const char* variable, const void* data) { return LEAT_OK; }
leat_status leat_write_block(const char* variable, uint32_t block, const void* data) { return LEAT_OK; }
leat_status leat_write_typed(const char* variable, uint32_t block, const void* data, int32_t type) { return LEAT_OK; }
leat_status leat_write_arrays(const char* variables, const leat_array* arrays, int32_t count) { return LEAT_OK; }
leat_status leat_write_any_array(const char* name, const leat_array* array) { return LEAT_OK; }
leat_status leat_write_any(const char* name, const void* data, int32_t type, int32_t ndim, const int64_t* extents) { return LEAT_OK; }
leat_status leat_set_extent_list(const char* variable, uint32_t block, const leat_list* extent) { return LEAT_OK; }
leat_status leat_set_extent(const char* variable, uint32_t block, const int64_t* extent) { return LEAT_OK; }
leat_status leat_set_position_list(const char* variable, uint32_t block, const leat_list* position) { return LEAT_OK; }
leat_status leat_set_position(const char* variable, uint32_t block, const int64_t* position) { return LEAT_OK; }
leat_status leat_set_level_list(const char* mesh, uint32_t block, int32_t level, const leat_list* position) { return LEAT_OK; }
leat_status leat_set_level(const char* mesh, uint32_t block, int32_t level, const int64_t* position) { return LEAT_OK; }
leat_status leat_restart_step(int64_t* iteration) { return LEAT_OK; }
leat_status leat_read_array(const char* variable, uint32_t block, const leat_array* array) { return LEAT_UNWANTED; }
leat_status leat_read_arrays(const char* variables, const leat_array* arrays, int32_t count) { return LEAT_UNWANTED; }
leat_status leat_read(const char* variable, void* data) { return LEAT_UNWANTED; }
leat_status leat_read_block(const char* variable, uint32_t block, void* data) { return LEAT_UNWANTED; }
leat_status leat_read_typed(const char* variable, uint32_t block, void* data, int32_t type) { return LEAT_UNWANTED; }
leat_status leat_end_iteration(void) { return LEAT_OK; }
leat_status leat_start_at(int64_t iteration) { return LEAT_OK; }
leat_status leat_begin_iteration(int64_t iteration) { return LEAT_OK; }
leat_status leat_count(const char* variable, int64_t* count) { return LEAT_OK; }
leat_status leat_signal(const char* event) { return LEAT_OK; }
leat_status leat_idle_begin(const char* site) { return LEAT_OK; }
leat_status leat_idle_end(void) { return LEAT_OK; }
leat_status leat_after_collective(int32_t ranks) { return LEAT_OK; }
leat_status leat_set_int(const char* parameter, int64_t value) { return LEAT_OK; }
leat_status leat_set_ints_list(const char* parameters, const leat_list* values) { return LEAT_OK; }
leat_status leat_set_ints(const char* parameters, const int64_t* values) { return LEAT_OK; }
leat_status leat_set_double(const char* parameter, double value) { return LEAT_OK; }
leat_status leat_set_doubles_list(const char* parameters, const leat_reals* values) { return LEAT_OK; }
leat_status leat_set_doubles(const char* parameters, const double* values) { return LEAT_OK; }
leat_status leat_set_string(const char* parameter, const char* value) { return LEAT_OK; }
leat_status leat_get_int(const char* parameter, int64_t* value) { return LEAT_OK; }
leat_status leat_get_double(const char* parameter, double* value) { return LEAT_OK; }
leat_status leat_get_string(const char* parameter, char* text, uint64_t size, uint64_t* needed) { return LEAT_OK; }
leat_status leat_wanted(const char* variable) { return LEAT_UNWANTED; }
leat_status leat_init_group(const char* config, const leat_group* group) { return LEAT_OK; }
leat_status leat_split_end(void) { return LEAT_OK; }
leat_status leat_set_executor(const leat_executor* executor) { return LEAT_OK; }

leat_status leat_split_group(const char* config, const leat_group* group, int32_t* divided) {
  if (divided) *divided = 0;
  return LEAT_OK;
}

leat_status leat_alloc(const char* variable, void** data) {
  return leat_alloc_block(variable, 0, data);
}

leat_status leat_alloc_block(const char* variable, uint32_t block, void** data) {
  if (!data) return LEAT_ERROR_ARGUMENT;
  *data = leat_scratch_memory(variable, block);
  return *data ? LEAT_OK : LEAT_ERROR_MEMORY;
}

leat_status leat_alloc_array(const char* variable, uint32_t block, leat_array* array) {
  if (!array) return LEAT_ERROR_ARGUMENT;
  array->data = NULL;
  return LEAT_UNWANTED;
}

leat_status leat_commit(const char* variable) { return leat_commit_block(variable, 0); }

leat_status leat_commit_block(const char* variable, uint32_t block) {
  leat_scratch_commit(variable, block);
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
    case 0: return "LEAT_OK";
    case 1: return "LEAT_UNWANTED";
    case 2: return "LEAT_DROPPED";
    case 3: return "LEAT_SERVED";
    case -1: return "LEAT_ERROR_ARGUMENT";
    case -2: return "LEAT_ERROR_STATE";
    case -3: return "LEAT_ERROR_CONFIG";
    case -4: return "LEAT_ERROR_UNKNOWN_NAME";
    case -5: return "LEAT_ERROR_TYPE";
    case -6: return "LEAT_ERROR_SHAPE";
    case -7: return "LEAT_ERROR_TOO_LARGE";
    case -8: return "LEAT_ERROR_FULL";
    case -9: return "LEAT_ERROR_TIMEOUT";
    case -10: return "LEAT_ERROR_SERVER";
    case -11: return "LEAT_ERROR_VERSION";
    case -12: return "LEAT_ERROR_MEMORY";
    case -13: return "LEAT_ERROR_SYSTEM";
    case -14: return "LEAT_ERROR_LOST";
    case -15: return "LEAT_ERROR_INTERNAL";
  }
  return "not a leat_status";
}

#pragma GCC diagnostic pop

#ifdef __cplusplus
}
#endif

#define LEAT_CHECKED_TYPES_(CHECKED)                                              \
  CHECKED(short, LEAT_TYPE_INT16)                                                 \
  CHECKED(unsigned short, LEAT_TYPE_UINT16)                                       \
  CHECKED(int, LEAT_TYPE_INT32)                                                   \
  CHECKED(unsigned int, LEAT_TYPE_UINT32)                                         \
  CHECKED(long, sizeof(long) == 8 ? LEAT_TYPE_INT64 : LEAT_TYPE_INT32)            \
  CHECKED(unsigned long, sizeof(long) == 8 ? LEAT_TYPE_UINT64 : LEAT_TYPE_UINT32) \
  CHECKED(long long, LEAT_TYPE_INT64)                                             \
  CHECKED(unsigned long long, LEAT_TYPE_UINT64)                                   \
  CHECKED(float, LEAT_TYPE_FLOAT32)                                               \
  CHECKED(double, LEAT_TYPE_FLOAT64)

#if defined(LEAT_NO_TYPE_CHECK)
#elif defined(__cplusplus) && __cplusplus >= 201103L
extern "C++" {
namespace leat_typed {

template <class T>
struct type_of {
  enum { value = 0 };
};
template <class T, decltype(sizeof 0) n>
struct type_of<T[n]> : type_of<T> {};
#define LEAT_CHECKED_(T, number) \
  template <>                    \
  struct type_of<T> {            \
    enum { value = number };     \
  };
LEAT_CHECKED_TYPES_(LEAT_CHECKED_)
#undef LEAT_CHECKED_

template <class T>
leat_status write(const char* variable, const T* data) {
  return leat_write_typed(variable, 0, data, type_of<T>::value);
}
inline leat_status write(const char* variable, const void* data) {
  return leat_write(variable, data);
}
template <class T>
leat_status write_block(const char* variable, uint32_t block, const T* data) {
  return leat_write_typed(variable, block, data, type_of<T>::value);
}
inline leat_status write_block(const char* variable, uint32_t block, const void* data) {
  return leat_write_block(variable, block, data);
}
template <class T>
leat_status read(const char* variable, T* data) {
  return leat_read_typed(variable, 0, data, type_of<T>::value);
}
inline leat_status read(const char* variable, void* data) { return leat_read(variable, data); }
template <class T>
leat_status read_block(const char* variable, uint32_t block, T* data) {
  return leat_read_typed(variable, block, data, type_of<T>::value);
}
inline leat_status read_block(const char* variable, uint32_t block, void* data) {
  return leat_read_block(variable, block, data);
}

}
}
#define leat_write(...) leat_typed::write(__VA_ARGS__)
#define leat_write_block(...) leat_typed::write_block(__VA_ARGS__)
#define leat_read(...) leat_typed::read(__VA_ARGS__)
#define leat_read_block(...) leat_typed::read_block(__VA_ARGS__)
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

#define LEAT_CHECKED_(T, number) T*: number, const T*: number, T(*)[]: number, const T(*)[]: number,
#define LEAT_TYPE_OF_(...) _Generic((__VA_ARGS__), LEAT_CHECKED_TYPES_(LEAT_CHECKED_) default: 0)
#define leat_write(variable, ...) leat_write_typed(variable, 0, __VA_ARGS__, LEAT_TYPE_OF_(__VA_ARGS__))
#define leat_write_block(variable, block, ...) \
  leat_write_typed(variable, block, __VA_ARGS__, LEAT_TYPE_OF_(__VA_ARGS__))
#define leat_read(variable, ...) leat_read_typed(variable, 0, __VA_ARGS__, LEAT_TYPE_OF_(__VA_ARGS__))
#define leat_read_block(variable, block, ...) \
  leat_read_typed(variable, block, __VA_ARGS__, LEAT_TYPE_OF_(__VA_ARGS__))
#endif

#ifdef MPI_VERSION

struct leat_mpi_group {
  MPI_Comm all, part, plugins;
  MPI_Request barrier;
};

static inline int32_t leat_mpi_arrive(void* context, int32_t begin) {
  struct leat_mpi_group* const group = (struct leat_mpi_group*)context;
  int done = 0;
  if (begin) MPI_Ibarrier(group->part, &group->barrier);
  MPI_Test(&group->barrier, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

static inline void leat_mpi_broadcast(void* context, void* data, int32_t bytes, int32_t root) {
  MPI_Bcast(data, bytes, MPI_BYTE, root, ((struct leat_mpi_group*)context)->all);
}

static inline void leat_mpi_least(void* context, int64_t* value) {
  int64_t mine = *value;
  MPI_Allreduce(&mine, value, 1, MPI_INT64_T, MPI_MIN, ((struct leat_mpi_group*)context)->all);
}

static inline void leat_mpi_node(void* context, int32_t* rank, int32_t* size) {
  MPI_Comm node;
  int number, count;
  MPI_Comm_split_type(((struct leat_mpi_group*)context)->all, MPI_COMM_TYPE_SHARED,
                      leat_memory_node(), MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &number);
  MPI_Comm_size(node, &count);
  MPI_Comm_free(&node);
  *rank = number;
  *size = count;
}

static inline void leat_mpi_divide(void* context, int32_t server, int32_t* rank, int32_t* size) {
  struct leat_mpi_group* const group = (struct leat_mpi_group*)context;
  int number, count;
  MPI_Comm_split(group->all, server, 0, &group->part);
  MPI_Comm_rank(group->part, &number);
  MPI_Comm_size(group->part, &count);
  *rank = number;
  *size = count;
}

static inline void* leat_mpi_plugins(void* context, int32_t serves, const char** why) {
  struct leat_mpi_group* const group = (struct leat_mpi_group*)context;
  int mine, least;
  MPI_Query_thread(&mine);
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, group->part);
  if (least < MPI_THREAD_SERIALIZED) {
    *why =
        "plugins run on threads of their own: MPI_Init_thread with MPI_THREAD_SERIALIZED is needed";
    return NULL;
  }
  MPI_Comm_split(group->part, serves ? 0 : MPI_UNDEFINED, 0, &group->plugins);
  return serves ? (void*)&group->plugins : NULL;
}

static inline int leat_mpi_at_end(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  (void)leat_split_end();
  return MPI_SUCCESS;
}

static inline leat_group leat_mpi_group_of(struct leat_mpi_group* mpi, MPI_Comm all) {
  leat_group group;
  int rank = 0, size = 0;
  if (all != MPI_COMM_NULL) {
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
  }
  mpi->all = mpi->part = all;
  mpi->plugins = MPI_COMM_NULL;
  group.struct_size = sizeof group;
  group.context = mpi;
  group.rank = rank;
  group.size = size;
  group.arrive = leat_mpi_arrive;
  group.broadcast = leat_mpi_broadcast;
  group.least = leat_mpi_least;
  group.node = leat_mpi_node;
  group.divide = leat_mpi_divide;
  group.plugins = leat_mpi_plugins;
  return group;
}

static inline leat_status leat_split(const char* config, MPI_Comm world, MPI_Comm* simulation) {
  struct leat_mpi_group mpi;
  leat_group group = leat_mpi_group_of(&mpi, world);
  leat_status status;
  int32_t divided = 0;
  int key;

  status = leat_split_group(config, &group, &divided);
  if (mpi.plugins != MPI_COMM_NULL) MPI_Comm_free(&mpi.plugins);
  *simulation = status == LEAT_OK ? mpi.part : MPI_COMM_NULL;
  if (status != LEAT_OK && mpi.part != world) MPI_Comm_free(&mpi.part);
  if (status == LEAT_OK && divided) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leat_mpi_at_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  }
  return status;
}

static inline leat_status leat_init_mpi(const char* config, MPI_Comm comm) {
  struct leat_mpi_group mpi;
  const leat_group group = leat_mpi_group_of(&mpi, comm);
  return leat_init_group(config, &group);
}

#endif

#endif
