/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is built on Leat: other languages, and libraries that give it another interface or bring it something. Simulations need leat.h
 * alone, whose conventions hold here too.
 */
#ifndef LEAT_BUILD_H
#define LEAT_BUILD_H

#include "leat.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LEAT_MAX_DIMS 8

/* An array that says itself what it is: any section of a larger one, in any order. */
typedef struct leat_array {
  uint64_t struct_size;           /* sizeof(leat_array) */
  void* data;                     /* the first element; only read by leat_write_array, written by leat_read_array */
  int32_t type;                   /* leat_type */
  int32_t dims;                   /* 0 to LEAT_MAX_DIMS */
  int64_t extent[LEAT_MAX_DIMS];  /* elements in each dimension */
  int64_t stride[LEAT_MAX_DIMS];  /* bytes from one element to the next in each dimension; may be negative or 0 */
  int32_t column_major;           /* 1: extent and stride start with the dimension that varies fastest, as in Fortran */
  int32_t reserved;
  const char* type_name;          /* what the caller calls the type, for messages: "real(4)"; NULL: Leat's own name */
} leat_array;

/* One number for each dimension, by a caller that knows how many it has. */
typedef struct leat_list {
  uint64_t struct_size;    /* sizeof(leat_list) */
  const int64_t* numbers;
  int32_t count;
  int32_t column_major;    /* 1: starts with the dimension that varies fastest, as in Fortran */
} leat_list;

/* The same of floating-point numbers. */
typedef struct leat_reals {
  uint64_t struct_size;    /* sizeof(leat_reals) */
  const double* numbers;
  int32_t count;
  int32_t reserved;
} leat_reals;

/* leat_write_block of an array that says what it is: type, number of dimensions and extents are checked against the XML,
 * and a section with strides is packed by the one copy. The extents of "?" dimensions are taken from the array, so that
 * leat_set_extent is not needed.
 * Errors: as leat_write; TYPE and SHAPE, with what the XML declares and what came. */
LEAT_API leat_status leat_write_array(const char* variable, uint32_t block, const leat_array* array);

/* leat_write_array of several variables, block 0 of each, in one line: names with commas between, as "u,v,w", and `count` arrays one
 * behind the other. All are written, whatever becomes of the others. Returns the first error, of which leat_last_error() is then;
 * else the first status that is not OK.
 * Errors: as leat_write_array; ARGUMENT when there are not as many arrays as names, or a name comes twice. Nothing is written then,
 * and leat_finalize counts the names as lost. */
LEAT_API leat_status leat_write_arrays(const char* variables, const leat_array* arrays, int32_t count);

/* leat_write_any of an array that says what it is. Errors: as leat_write_any. */
LEAT_API leat_status leat_write_any_array(const char* name, const leat_array* array);

/* leat_read_block of an array that says what it is, which is filled: `data` of the array are written. Type, number of dimensions and
 * extents are checked as for leat_write_array, and sections with strides are filled as they are.
 * Errors: as leat_read. */
LEAT_API leat_status leat_read_array(const char* variable, uint32_t block, const leat_array* array);

/* leat_read_array of several variables in one line, as leat_write_arrays writes them. */
LEAT_API leat_status leat_read_arrays(const char* variables, const leat_array* arrays, int32_t count);

/* leat_alloc_block that also says what the memory is: fills *array, of which struct_size and column_major are the
 * caller's, with data, type, dims, extents and strides. */
LEAT_API leat_status leat_alloc_array(const char* variable, uint32_t block, leat_array* array);

/* leat_set_extent, leat_set_position and leat_set_level with a count, which is checked. Errors: ARGUMENT when there are not as many as
 * dimensions. */
LEAT_API leat_status leat_set_extent_list(const char* variable, uint32_t block, const leat_list* extent);
LEAT_API leat_status leat_set_position_list(const char* variable, uint32_t block, const leat_list* position);
/* leat_set_ints and leat_set_doubles with a count, which is checked. Errors: ARGUMENT when there are not as many as names, or a name
 * comes twice. */
LEAT_API leat_status leat_set_ints_list(const char* parameters, const leat_list* values);
LEAT_API leat_status leat_set_doubles_list(const char* parameters, const leat_reals* values);
LEAT_API leat_status leat_set_level_list(const char* mesh, uint32_t block, int32_t level, const leat_list* position);

/* What leat_split and leat_init_mpi of leat_mpi.h, of the Fortran module leat_mpi and of Python are built on: the processes of a communicator,
 * by calls that who has MPI fills in. All are collective over these processes, in the same order, and are called by the
 * thread that calls leat_split_group, in it. */
typedef struct leat_group {
  uint64_t struct_size;  /* sizeof(leat_group) */
  void* context;         /* given to each call */
  int32_t rank, size;
  /* begin 1: begins a barrier, without a wait; 0: looks at it. Returns 1 when all have come to it, else 0. */
  int32_t (*arrive)(void* context, int32_t begin);
  /* Gives all what `root` has at `data`. */
  void (*broadcast)(void* context, void* data, int32_t bytes, int32_t root);
  /* Gives all the least of what they have. */
  void (*least)(void* context, int64_t* value);
  /* Of this process among those of its node. */
  void (*node)(void* context, int32_t* rank, int32_t* size);
  /* Parts servers (1) from the simulation (0); says of this process' part who it is in it and how many it has. From here on
   * `arrive` is about that part. */
  void (*divide)(void* context, int32_t server, int32_t* rank, int32_t* size);
  /* NULL, or collective over the part that are servers: gives a pointer to an MPI_Comm of those that have plugins to run
   * (serves 1) and not only a core to give, for plugins alone; valid until leat_split_group returns. NULL when there can be
   * none; then *why says why. Read when struct_size says that it is there. */
  void* (*plugins)(void* context, int32_t serves, const char** why);
} leat_group;
/* *divided: filled with 1 when there is a part that is the simulation, 0 when all processes are. */
LEAT_API leat_status leat_split_group(const char* config, const leat_group* group, int32_t* divided);
/* What leat_init_mpi is built on: leat_init for the processes of the group, which are the simulation. After leat_split it is the
 * one that it gave; a process that was a server is in none. */
LEAT_API leat_status leat_init_group(const char* config, const leat_group* group);
/* The memory node of the processors on which this process may run; 0 when they are on several, or the system does not tell.
 * Who numbers the ranks of a node takes it for the key, so that servers get ranks that are near each other. */
LEAT_API int32_t leat_memory_node(void);
/* This process ends. Servers wait for it no longer, be it that it never called leat_init. */
LEAT_API leat_status leat_split_end(void);

/* Has leatd read the XML, and fills *text with what it says, one thing in a line, words separated by tabs; the caller frees it.
 *
 *     parameter  NAME  int|double|string  VALUE      without VALUE when it has none yet; \t, \n and \\ stand for such characters
 *     place      process|ranks|...  CORES            where the server lives, with "ranks" call leat_split; and its cores
 *     type       NAME  int32|float64|...             of each variable; char where it has the types of cells of a mesh
 *     variable   NAME  BLOCKS                        of the variables with a global array: blocks of a rank in an iteration
 *
 * There will be other lines: pass over what you do not know. No session is needed, none is begun; MPI is not used: one rank may
 * ask and tell the others. With libleat_stub, and with LEAT=off where there is no leatd, the text is empty.
 * Errors: CONFIG, with all errors of the XML in leat_last_error(); SERVER; TIMEOUT; ARGUMENT. *text is NULL then. */
LEAT_API leat_status leat_describe(const char* config, char** text);

/* For libraries that bring threads, like leat_tbb.hpp: analyses with runs="dynamic" are done on them. The server is in the process of the
 * simulation then, as <dedicated place="thread"/> says. */
typedef struct leat_executor {
  uint64_t size; /* sizeof(leat_executor) */
  void* context; /* for each call */
  /* The XML wants `schedule`, "static" or "dynamic", with so many `cores` for analyses. In each run once, while
   * leat_init waits, on a thread of Leat's own. With "static" run() is not called: those cores are Leat's. Returns 0; any other value
   * says that it cannot, and leat_init fails. */
  int (*start)(void* context, const char* schedule, int cores);
  /* Calls piece(arg, i) once for each i from 0 to pieces - 1, on any threads, several at a time, and returns when all of them have
   * returned. After one that has not returned 0, those that are not begun may be left out. is_late(arg), from any thread until then, is
   * not 0 once the simulation has ended another iteration, which waits for these pieces: those who did them only where nothing else was
   * to do may now let the simulation have less. From several threads at the same time, all of Leat's own. */
  void (*run)(void* context, uint64_t pieces, int (*piece)(void* arg, uint64_t number),
              int (*is_late)(void* arg), void* arg);
} leat_executor;

/* For the runs that begin afterwards; before leat_init, on each rank that may host the server. The table is copied, what it leads to
 * lives until the process ends. NULL: none, as at first. May be called from constructors of static objects. With LEAT=off and
 * libleat_stub it does nothing.
 * Errors: ARGUMENT. */
LEAT_API leat_status leat_set_executor(const leat_executor* executor);

#ifdef __cplusplus
}
#endif

#endif
