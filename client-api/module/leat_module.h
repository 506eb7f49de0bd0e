/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module of a graph in C: a program that Leat starts, and that has a turn for each iteration of its inputs.
 *
 *     while (leat_wait() == 1) {
 *       leat_part u;
 *       double sum = 0;
 *       for (int i = 0; i < leat_parts("u"); ++i) {
 *         if (leat_get("u", i, &u) == LEAT_OK) sum += sum_of(u.data, u.bytes / sizeof(double));
 *       }
 *       leat_put("sum", &sum, LEAT_TYPE_FLOAT64, 0, NULL);
 *     }
 *
 * Conventions
 *  1. Calls return a leat_status of leat.h: LEAT_OK is 0, errors are negative. The library never aborts and never exits. The
 *     message of the last error is in leat_module_error(); each one is in the log of the run too, once.
 *  2. Ports, options and what is connected are named by the graph; a message about another name says the nearest one.
 *  3. Arrays are in C order and contiguous, the last dimension varies fastest; extents are in elements, sizes in bytes.
 *  4. What leat_get tells of is memory of the simulation or of other modules, mapped read-only and not copied: a write to it
 *     ends the program (SIGSEGV). It, and the texts beside it, are valid until the next leat_wait.
 *  5. leat_put copies before it returns, except what lies in memory of leat_put_memory, which must not be changed afterwards.
 *     Memory for what a module makes comes back when nobody reads it any more.
 *  6. One thread at a time makes these calls; all threads may read and fill the arrays. After fork() the child must not call.
 *  7. A program that ends with status 0 wants no more turns; one that ends otherwise within a turn has failed in it, and is
 *     started again. Returning from main() or exit(0) within a turn ends that turn well.
 *
 * libleat_module needs libc and nothing else. A program may link libleat too: no name is in both.
 */
#ifndef LEAT_MODULE_H
#define LEAT_MODULE_H

#include "leat.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LEAT_MODULE_DIMS 8 /* most dimensions of an array */

/* One array of what has come at a port. */
typedef struct leat_part {
  uint64_t struct_size;                /* sizeof(leat_part); leat_get fills it in */
  const void* data;                    /* read-only, aligned as its type is; NULL when it has no elements */
  uint64_t bytes;
  int32_t type;                        /* a leat_type */
  int32_t dims;                        /* 0: a number */
  int64_t extent[LEAT_MODULE_DIMS];    /* elements in each dimension, ghosts included */
  const char* name[LEAT_MODULE_DIMS];  /* of each dimension */
  const char* unit;                    /* "" when none is said */
  int64_t iteration;                   /* the turn's; an earlier one at ports with tokens, and greedy ones */
  const char* source;                  /* the module, script or store that has made it; NULL: a block of the simulation */
  int32_t rank;                        /* of a block of the simulation: who has written it; else -1 */
  int32_t block;                       /* and its number there; else -1 */
  int32_t level;                       /* and its level on a mesh with levels; else -1 */
  int32_t has_position;
  int64_t position[LEAT_MODULE_DIMS];  /* index of its first cell that is no ghost, in the global array or in its level */
  int64_t ghosts_before[LEAT_MODULE_DIMS]; /* layers of ghosts in each dimension: cells that are another block's own */
  int64_t ghosts_after[LEAT_MODULE_DIMS];
  int32_t has_global;
  int32_t reserved;
  int64_t global[LEAT_MODULE_DIMS];    /* extents of the global array, without ghosts */
} leat_part;

/* Ends the turn, and waits for the next one. 1: there is one. 0: the run is over, and the program should end. < 0, an error, which
 * is printed too: SERVER when the program was not started by Leat, or leatd says what makes no sense. The first call says that this
 * is a module, so make it soon: what takes long at the start of a program counts against the start of the run. Waits as long as
 * leatd lives. */
LEAT_API int leat_wait(void);

/* Of this turn; within a turn only. */

/* The number of its iteration; -1 outside of a turn. */
LEAT_API int64_t leat_turn_iteration(void);
/* 1 when all ranks of the node have ended the iteration, 0 when some have died before; -1 outside of a turn. */
LEAT_API int leat_turn_complete(void);
/* The simulation's time. Errors: STATE; UNKNOWN_NAME where the XML has no <time>. */
LEAT_API leat_status leat_turn_time(double* time);
/* The value that a parameter of the XML has in the iteration. leat_turn_double is good for type="int" too. The text is valid until the
 * next leat_wait. Errors: STATE (outside of a turn, or it has no value yet), UNKNOWN_NAME (with the nearest name), TYPE, ARGUMENT. */
LEAT_API leat_status leat_turn_int(const char* parameter, int64_t* value);
LEAT_API leat_status leat_turn_double(const char* parameter, double* value);
LEAT_API leat_status leat_turn_text(const char* parameter, const char** text);

/* How many arrays have come at a port: of a variable one for each block of this node's ranks, by rank and block; else one for each
 * connection, in their order. 0 where there is nothing: at ports with tokens, and greedy ones. < 0: an error, as of leat_get. */
LEAT_API int leat_parts(const char* port);
/* One of them, from 0 on. *part is filled; nothing is copied. Errors: UNKNOWN_NAME (with the nearest name), ARGUMENT (there is no such part),
 * STATE (outside of a turn), SYSTEM (its memory cannot be mapped). After an error part->data is NULL. */
static inline leat_status leat_get(const char* port, int part, leat_part* to);
/* The same for a leat_part of `size` bytes, as another version of this header has it. */
LEAT_API leat_status leat_get_sized(const char* port, int part, leat_part* to, uint64_t size);

/* Memory for an array to be put: *data is aligned to 64 bytes and uninitialised, and belongs to the caller until it is given to
 * leat_put, or the turn ends. Errors: FULL (others have yet to read what was put before), TOO_LARGE, with the numbers: memory="..." of
 * <scripts> says how much there is; STATE, MEMORY, ARGUMENT. */
LEAT_API leat_status leat_put_memory(uint64_t bytes, void** data);
/* Hands an array over, once in a turn for each port. data: what leat_put_memory gave, which is not copied; any other memory is.
 * May be NULL only when there are no elements. dims: 0 to 8; extents: one for each, may be NULL when dims is 0.
 * A port that steers a parameter takes one number. Errors: UNKNOWN_NAME (with the nearest name), STATE (outside of a turn, or the port
 * has had its array), ARGUMENT, TYPE, SHAPE (a port that steers), those of leat_put_memory, SERVER. After an error nothing was handed over. */
LEAT_API leat_status leat_put(const char* port, const void* data, leat_type type, int dims,
                              const int64_t extents[]);
/* The same with a unit, NULL: as the graph says; and a name for each dimension, NULL: "dim_0", "dim_1", ... */
LEAT_API leat_status leat_put_described(const char* port, const void* data, leat_type type,
                                        int dims, const int64_t extents[], const char* unit,
                                        const char* const names[]);

/* As the graph calls this module; "" when Leat has not started it. Valid until the program ends. */
LEAT_API const char* leat_module_name(void);
/* What the graph gives to this module: a text as it is, anything else as JSON ("3", "true", "[1, 2]"); NULL when the graph does not
 * say it. Valid until the program ends. */
LEAT_API const char* leat_module_option(const char* name);
/* A line for the log of the run. level: "debug", "info", "warning" or "error"; NULL: "info". Errors: SERVER, ARGUMENT. */
LEAT_API leat_status leat_module_log(const char* level, const char* text);

/* The message of the last call that failed, with what to do about it; "" when none has. Valid until the next one that fails. */
LEAT_API const char* leat_module_error(void);

static inline leat_status leat_get(const char* port, int part, leat_part* to) {
  return leat_get_sized(port, part, to, sizeof(leat_part));
}

#ifdef __cplusplus
}
#endif
#endif
