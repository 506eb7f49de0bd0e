/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leat: hand your arrays over in one line and compute on.
 *
 *     leat_init("heat.xml");
 *     for (...) {
 *       leat_write("temperature", T);
 *       leat_end_iteration();
 *     }
 *     leat_finalize();
 *
 * Conventions
 *  1. Every call returns a leat_status: LEAT_OK is 0, errors are negative. The library never aborts, never exits and
 *     prints nothing on success. The first error of a kind is also printed on standard error, so that a code which
 *     ignores statuses does not lose data in silence: once for all ranks of the node, with their numbers, by its server.
 *     leat_last_error() has the whole message.
 *  2. Names are those of the XML file. Variables in groups are called "group/name".
 *  3. Arrays are in C order and contiguous; their type and shape are those of the variable's layout, ghosts included.
 *     From C11 and C++11 on the type is checked, by what the compiler knows of the pointer: see leat_write_typed.
 *  4. leat_write copies before it returns: the array is the caller's again. leat_alloc hands out memory of the segment
 *     instead: it is the caller's until leat_commit, and must not be touched afterwards.
 *  5. Calls are thread safe. A block belongs to the iteration in which its leat_write or leat_commit ends; a call of
 *     leat_end_iteration in another thread at that moment decides between two iterations, so end an iteration when
 *     its writes have returned.
 *  6. No call waits longer than the timeout of the XML's <buffer>, whatever the server does. leat_finalize waits as
 *     long as the server makes progress, and at most that timeout without any.
 *     With when-full="drop-iteration" an iteration for which there is no room is dropped, whole, on all ranks of the
 *     node: calls that would write into it return LEAT_DROPPED, hand nothing over and are no errors, leat_alloc gives
 *     NULL. LEAT_OK means: the iteration has not been dropped so far.
 *  7. No call uses MPI. The calls may be made from a process of any rank in any order; only leat_end_iteration must be
 *     called equally often on all ranks of a node.
 *  8. With LEAT=off in the environment, or linked with libleat_stub, every call returns LEAT_OK and does nothing, except
 *     that leat_wanted and leat_read return LEAT_UNWANTED, and that leat_alloc gives memory to compute in: private memory with room
 *     for any block, since nobody reads the XML then. The allocation of Fortran, C++ and Python, which would have to
 *     know the shape, gives none and returns LEAT_UNWANTED: check for that. What leat_get_... would fill
 *     stays as it is.
 *  9. After fork() the child must not call Leat.
 *
 * leat_build.h has what libraries need that give Leat another interface: arrays that say what they are, and whole communicators.
 */
#ifndef LEAT_H
#define LEAT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LEAT_API __attribute__((visibility("default")))
#else
#define LEAT_API
#endif

typedef enum leat_status {
  LEAT_OK = 0,                  /* all went well */
  LEAT_UNWANTED = 1,            /* not an error: nobody wants this variable in this iteration */
  LEAT_DROPPED = 2,             /* not an error: the iteration is left out, as when-full says */
  LEAT_SERVED = 3,              /* not an error: this rank was a server, and the run is over */
  LEAT_ERROR_ARGUMENT = -1,     /* an argument is null or out of range */
  LEAT_ERROR_STATE = -2,        /* not allowed now: before leat_init, after leat_finalize, or out of order */
  LEAT_ERROR_CONFIG = -3,       /* the XML has errors, or cannot be read */
  LEAT_ERROR_UNKNOWN_NAME = -4, /* the XML declares no variable or parameter of this name */
  LEAT_ERROR_TYPE = -5,         /* the type differs from the one that the XML declares */
  LEAT_ERROR_SHAPE = -6,        /* extent, position or layout do not fit each other */
  LEAT_ERROR_TOO_LARGE = -7,    /* the block can never fit into the segment */
  LEAT_ERROR_FULL = -8,         /* the segment stayed full until the timeout, or when-full allows no wait */
  LEAT_ERROR_TIMEOUT = -9,      /* the server did not answer within the timeout */
  LEAT_ERROR_SERVER = -10,      /* the server cannot be started, or is gone */
  LEAT_ERROR_VERSION = -11,     /* client library and server are of different versions */
  LEAT_ERROR_MEMORY = -12,      /* the machine has less shared memory than the buffer needs */
  LEAT_ERROR_SYSTEM = -13,      /* a system call failed */
  LEAT_ERROR_LOST = -14,        /* something that was written could not be stored; the message says what */
  LEAT_ERROR_INTERNAL = -15     /* a fault of Leat itself: please report it */
} leat_status;

/* Who this process is in its simulation. leat_init takes it from the launcher's environment, leat_init_mpi from a
 * communicator; fill it in yourself only for a launcher that Leat does not know. */
typedef struct leat_ranks {
  uint64_t struct_size;  /* sizeof(leat_ranks) */
  int32_t rank;          /* of this process, 0 to size-1 */
  int32_t size;          /* processes in the simulation */
  int32_t node_rank;     /* of this process among those of its node, 0 to node_size-1 */
  int32_t node_size;     /* processes on this node */
  const char* session;   /* the same text on all ranks of one run, of 1 to 64 letters, digits, '-', '_' or '.', and
                            different for each run; NULL: taken from LEAT_SESSION or the launcher's job number */
} leat_ranks;

/* Element types, by their numbers in leat_write_typed and leat_array. Complex numbers are (real, imaginary) pairs. */
typedef enum leat_type {
  LEAT_TYPE_INT8 = 1, LEAT_TYPE_INT16 = 2, LEAT_TYPE_INT32 = 3, LEAT_TYPE_INT64 = 4,
  LEAT_TYPE_UINT8 = 5, LEAT_TYPE_UINT16 = 6, LEAT_TYPE_UINT32 = 7, LEAT_TYPE_UINT64 = 8,
  LEAT_TYPE_FLOAT32 = 9, LEAT_TYPE_FLOAT64 = 10, LEAT_TYPE_COMPLEX64 = 11, LEAT_TYPE_COMPLEX128 = 12,
  LEAT_TYPE_CHAR = 13
} leat_type;

/* Connects to this node's server for this run, and starts it when there is none.
 * config: path of the XML file, the same on all ranks. The server reads it; all of its errors are in leat_last_error().
 * A program may go on after an error: all later calls fail then, nothing is stored, and leat_finalize, or the end of the process,
 * says once more how many writes that were, and why.
 * Errors: CONFIG, MEMORY (with both numbers), SERVER, VERSION, TIMEOUT, STATE when already initialised. */
LEAT_API leat_status leat_init(const char* config);
LEAT_API leat_status leat_init_ranks(const char* config, const leat_ranks* ranks);

/* Ends the last iteration if it holds data, waits until the server has stored everything of this node's ranks, and
 * detaches. Call it on all ranks. Returns LEAT_ERROR_LOST, with a message that says what and why, when something could
 * not be stored. With LEAT_STRICT=1 in the environment, for tests and chains of jobs, it does so too when a rank died, a
 * script failed, a script or store left iterations out, or some were dropped as the XML allows; without, one rank of the
 * node says so in a line. Afterwards leat_init may be called again. */
LEAT_API leat_status leat_finalize(void);

/* Hands over one array (block 0 of this rank). Writing a block again in the same iteration replaces it. One copy, one
 * event; no system call while the server is awake.
 * data: the whole block as the layout describes it; may be NULL only when the block has no elements.
 * Errors: UNKNOWN_NAME (with the nearest name), SHAPE (a parameter never set, an extent missing), TOO_LARGE (with both
 * numbers), FULL, SERVER. After an error nothing was handed over, and leat_finalize counts the block as lost. */
LEAT_API leat_status leat_write(const char* variable, const void* data);
/* The same for a rank that has several blocks of a variable; block numbers need not be dense, and end at 2147483647:
 * ARGUMENT beyond. */
LEAT_API leat_status leat_write_block(const char* variable, uint32_t block, const void* data);

/* leat_write_block of an array whose elements are of this leat_type, or of a type that is not known: 0.
 * From C11 and C++11 on leat_write and leat_write_block are macros of the same names over it, so that a double is not taken
 * for the int of the XML: pointers to integers, float and double, const or not, and arrays of several dimensions (up to two
 * in C) say their type. Unchecked are pointers to void, to char and its kin, to complex numbers, to enumerations in C++ (in
 * C they are int or unsigned int), and to anything else; so a cast to const void* spares one call the check, and
 * LEAT_NO_TYPE_CHECK, defined before leat.h is included, all calls. Integers of the same size but another sign differ; long
 * and long long of the same size do not. The parts of complex numbers may be written as float or double. Messages call it
 * leat_write.
 * Errors: as leat_write; TYPE, with what the XML declares and what came; ARGUMENT when `type` is none. */
LEAT_API leat_status leat_write_typed(const char* variable, uint32_t block, const void* data, int32_t type);

/* Hands over one array under any name, with its type and shape: for the one place of a code through which all that it writes goes.
 * Of a name that the XML declares it does what leat_write does, once `type`, `ndim` and `extents` are what is declared; "?" dimensions
 * are taken from `extents`. Of another name, undeclared="..." of <data> says what becomes of it:
 *   warn (default)  it is not stored: LEAT_UNWANTED. leat_last_error() says so each time, the log once, with the lines of XML to add.
 *   ignore          it is not stored: LEAT_UNWANTED. The log has how many there were at the end.
 *   accept          it is stored with its own type and shape: LEAT_OK. The log shows the lines to add once.
 * With "accept" the block of each rank lies by itself, as products/undeclared@<rank>/<name> in an hdf5 file ("/" of a name is "." there);
 * it has the type and shape of the first one of the name on this rank; a rank has at most 1000 such names; each array takes a
 * multiple of 64 KiB of the buffer until its iteration is stored.
 * type: a leat_type. ndim: 0 to 8. extents: as many, in C order; may be NULL when ndim is 0.
 * Errors: as leat_write; TYPE and SHAPE, with what is declared, or came first, and what came; ARGUMENT (a type that is none, a
 * negative extent, a name that no variable can have, one name too many). After an error nothing was handed over, and leat_finalize
 * counts the array as lost. */
LEAT_API leat_status leat_write_any(const char* name, const void* data, int32_t type, int32_t ndim, const int64_t* extents);

/* Memory of the segment to compute in, instead of a copy: *data is aligned to 64 bytes and uninitialised, and belongs
 * to the caller until leat_commit. Asking again before the commit returns the same memory.
 * Errors: as leat_write; STATE when an uncommitted block has another size now. */
LEAT_API leat_status leat_alloc(const char* variable, void** data);
LEAT_API leat_status leat_alloc_block(const char* variable, uint32_t block, void** data);
/* Hands the memory of leat_alloc over. It must not be read or written afterwards. */
LEAT_API leat_status leat_commit(const char* variable);
LEAT_API leat_status leat_commit_block(const char* variable, uint32_t block);

/* Extents of a block from now on, ghosts included, one per dimension of the layout, for layouts with "?" dimensions;
 * the other dimensions must have the layout's own extent. 0 is allowed: a block without elements. Negative ones are
 * refused at once: ARGUMENT. */
LEAT_API leat_status leat_set_extent(const char* variable, uint32_t block, const int64_t* extent);
/* Where a block lies in the global array from now on: index, from 0, of its first cell that is no ghost, one per
 * dimension. Not needed when the block is the whole. */
LEAT_API leat_status leat_set_position(const char* variable, uint32_t block, const int64_t* position);

/* Which level of an amr mesh a block is of from its next write on, until it is said again, and where: index of its first cell
 * that is no ghost among all cells of that level, one per dimension of the layouts on the mesh, in their order; 0 is the cell
 * at the mesh's origin, and numbers below are allowed. It is said once for this block of all variables on the mesh, which is
 * what leat_set_position is elsewhere. Level 0 is the coarsest. Blocks may come, go and change their level as they like:
 * what is not written in an iteration is not there. Memory of leat_alloc has the level and place that it was given with.
 * Errors: UNKNOWN_NAME (with the nearest name), ARGUMENT (no amr mesh, no such level). A block that is written without is an
 * error of that write: SHAPE. */
LEAT_API leat_status leat_set_level(const char* mesh, uint32_t block, int32_t level, const int64_t* position);

/* Goes on from a checkpoint: *iteration is filled with the iteration that comes after the newest whole one, or with 0 when there is
 * none, and this rank is in that iteration. The same on all ranks of the run; the log says which checkpoint it is, and why newer
 * ones are not taken. LEAT_RESTART=300 in the environment names another one, by its iteration, LEAT_RESTART=off none. Parameters without a
 * value have the one that they had then. After leat_init, before the first write of a variable that varies in time.
 *
 *     int64_t step = 0;
 *     leat_restart_step(&step);
 *     if (step > 0) leat_read("checkpoint/u", u);
 *     for (; step < steps; ++step) ...
 *
 * Errors: STATE when this rank has written what varies in time already; ARGUMENT; SYSTEM when it cannot be read any more. */
LEAT_API leat_status leat_restart_step(int64_t* iteration);

/* Fills an array with what that checkpoint has of it: the block that this rank would write now, ghosts included, whichever
 * ranks wrote those cells, and however many they were. Call leat_set_position before, as for leat_write, where the block is not
 * the whole. Ghost cells get what their owners wrote; those outside of the global array stay as they are. A variable
 * without a global array is read by the rank that wrote it, in a run of as many ranks. Each rank reads what it needs, checks
 * it against its checksum, and takes less than 512 KiB of memory for that. leat_read and leat_read_block check types as leat_write does.
 * With LEAT=off: LEAT_UNWANTED, and the array stays as it is. Errors: STATE when there is no checkpoint; UNKNOWN_NAME (with the
 * nearest name); TYPE and SHAPE, with what was written and what is wanted; SYSTEM when a file is damaged or gone. The message says
 * whether the array is as it was or filled in part. */
LEAT_API leat_status leat_read(const char* variable, void* data);
LEAT_API leat_status leat_read_block(const char* variable, uint32_t block, void* data);
/* leat_read_block of an array whose elements are of this leat_type, or of a type that is not known: 0. */
LEAT_API leat_status leat_read_typed(const char* variable, uint32_t block, void* data, int32_t type);

/* Ends the current iteration on this rank. The next one begins even if this call returns an error. Never waits for other
 * ranks. Errors: TIMEOUT (the server, stopped or far behind, takes nothing now; it is told as soon as it
 * does, before anything of the next iteration), SERVER. */
LEAT_API leat_status leat_end_iteration(void);
/* Number of the current iteration, from 0; -1 when not initialised. */
LEAT_API int64_t leat_iteration(void);

/* The first iteration of this rank has this number, instead of 0: for a code that goes on from a restart file of its own,
 * behind leat_init. All ranks give the same number; where they do not, a warning says so, and iterations that only some ranks
 * have hold what those write. What is before it is no loss, and nothing waits for it. With append="true" of a <store> the
 * output of the run before goes on in the same file: docs/how-to/restart.md.
 * Once, and before anything of this rank was written, signalled or ended, but for variables with time-varying="false": those are
 * of this iteration then. 0 is allowed.
 * Errors: ARGUMENT (below 0, or above 2147483646), STATE (too late; nothing is changed, and leat_finalize returns STATE when
 * something is written under another number then), TIMEOUT (the server takes nothing now; the number holds, and it is told as soon
 * as it does), SERVER. */
LEAT_API leat_status leat_start_at(int64_t iteration);

/* Optional: the iteration that begins now has this number, the step of the code itself, instead of the one after the last. Files,
 * scripts, the ledger and the log have the code's numbers then; numbers that are left out cost nothing, and are no loss. `every` of
 * the XML counts numbers: every="10" takes those that 10 divides. All ranks give the same number; where they do not, a warning says
 * so. Before anything of the iteration is written or signalled; values of parameters may be set before, and, before the first of
 * these calls, variables with time-varying="false" be written. The first call may come instead of leat_start_at. Errors: ARGUMENT
 * (below 0, or above 2147483646), STATE (the number is less than that of the current iteration, or something was written since
 * leat_end_iteration; nothing is changed, and leat_finalize returns STATE when something is written under another number then),
 * TIMEOUT (the server takes nothing now; the number holds, and it is told as soon as it does), SERVER. */
LEAT_API leat_status leat_begin_iteration(int64_t iteration);

/* How many blocks of the variable this rank has handed over in its current iteration; one that was written again counts once.
 * leat_write hands nothing over of a variable that nobody takes. For a code whose number of blocks changes, as a check of its own.
 * With LEAT=off, and after an error, *count stays as it is. Errors: UNKNOWN_NAME (with the nearest name), ARGUMENT. */
LEAT_API leat_status leat_count(const char* variable, int64_t* count);

/* From here on, until leat_idle_end, this rank's cores have nothing to do: it waits for others, reads a file, computes on
 * an accelerator, or on one core alone. Plugins with runs="harvest" work meanwhile; a thread that computes comes before
 * them on its core. site: where in the code, a text that is the same each time: how long phases are is learned for each
 * site, and those of less than a millisecond on average are left alone, the first of a site too. Phases may be nested,
 * the outermost counts; calls of other threads than that of leat_init count for nothing, and so do those before
 * leat_init and after leat_finalize. libleat_pmpi, preloaded or linked, makes these calls around each call of MPI that
 * may wait, libleat_ompt between parallel regions of OpenMP. No system call but where a plugin has work to do.
 * Always LEAT_OK. */
LEAT_API leat_status leat_idle_begin(const char* site);
LEAT_API leat_status leat_idle_end(void);

/* This rank has come out of a collective operation that no rank leaves before all have entered it: a barrier, an all-reduce,
 * all-gather or all-to-all. Plugins with runs="coordinated" start there, on all nodes at the same moment. ranks: how many took
 * part; 0 for all of the run, and of fewer it counts for nothing. All ranks call it after the same collectives; calls of
 * other threads than that of leat_init count for nothing, and so do those before leat_init and after leat_finalize.
 * libleat_pmpi, preloaded or linked, makes the call. No system call but where a plugin waits for it.
 * Always LEAT_OK. */
LEAT_API leat_status leat_after_collective(int32_t ranks);

/* Signals an <event> of the XML in this rank's current iteration: once that has ended, what the XML says is done. An event of
 * scope="rank" happens at each call, one of scope="node" or "run" when every rank has made as many calls. Signals of a rank
 * keep their order, among each other and with its iterations; whatever is done has all of the iteration before it, what is
 * written after the call included. Takes no memory, and waits as leat_end_iteration does.
 * Errors: UNKNOWN_NAME (with the nearest name), ARGUMENT, TIMEOUT (the server, stopped or far behind, takes nothing now),
 * SERVER. After an error nothing was signalled. */
LEAT_API leat_status leat_signal(const char* event);

/* Gives a parameter of the XML its value for this rank. A parameter that shapes a layout can be set until the first
 * block of that layout is written, and at any time where the layout says varying="true". Another value that is refused
 * (STATE) leaves the old one in force, and since the code goes on with arrays of another size, leat_write and leat_alloc of
 * the layouts that it shapes return LEAT_ERROR_SHAPE, and count as lost, until the parameter is set to its value again.
 * Errors: UNKNOWN_NAME, TYPE, STATE, SERVER; FULL (the server takes nothing now; the value holds all the same, and the
 * server is told as soon as it does). */
LEAT_API leat_status leat_set_int(const char* parameter, int64_t value);
LEAT_API leat_status leat_set_double(const char* parameter, double value);
/* leat_set_int and leat_set_double of several parameters in one line: names with commas between, as "nx,ny,i0,j0", and as many
 * values. After an error, which is that of the first one that cannot be set, those before it are set. */
LEAT_API leat_status leat_set_ints(const char* parameters, const int64_t* values);
LEAT_API leat_status leat_set_doubles(const char* parameters, const double* values);
LEAT_API leat_status leat_set_string(const char* parameter, const char* value);

/* The value of a parameter in this rank's current iteration: the one that came last of the XML's, what this rank has
 * set, and what was steered, that is, set while the run goes on by a script on the server. A steered value holds from the
 * same iteration on for all ranks of a node: it is there when leat_end_iteration has returned, and no other one comes
 * before the next leat_end_iteration. These calls wait for nobody and ask nobody.
 *
 *     double dt = 0.01;
 *     leat_get_double("dt", &dt);
 *
 * With LEAT=off, and after an error, *value and text stay as they are: give them what the code uses without Leat.
 * leat_get_double is good for parameters of type int too, rounded to a double.
 * Errors: UNKNOWN_NAME (with the nearest name), TYPE, STATE when the parameter has no value yet, ARGUMENT. */
LEAT_API leat_status leat_get_int(const char* parameter, int64_t* value);
LEAT_API leat_status leat_get_double(const char* parameter, double* value);
/* text: of `size` bytes; filled with the value and a zero at its end.
 * needed: filled with the bytes that takes, zero included, also when they are more than `size`; may be NULL. With a size
 * of 0 and `needed`, nothing else is done, and text may be NULL. A steered text needs at most 256 bytes.
 * Errors: as leat_get_int; ARGUMENT when `size` is too small, with the size that is needed. */
LEAT_API leat_status leat_get_string(const char* parameter, char* text, uint64_t size, uint64_t* needed);

/* LEAT_OK when some plugin takes the variable in the current iteration, LEAT_UNWANTED when none does: a code may spare
 * itself the work of computing it. One with time-varying="false" is wanted in the first iteration that this rank writes it in, and then
 * as `every` says. LEAT_UNWANTED too when the iteration is left out. Writing it all the same is allowed and costs nothing. */
LEAT_API leat_status leat_wanted(const char* variable);

/* The message of the last call of this thread that failed, with what to do about it; "" when none has. Valid until the
 * thread's next failing call. */
LEAT_API const char* leat_last_error(void);
/* "LEAT_ERROR_FULL" for LEAT_ERROR_FULL; never NULL. */
LEAT_API const char* leat_status_name(leat_status status);

#ifdef __cplusplus
}
#endif

/* The check of types. A macro that takes arguments leaves &leat_write what it is. */
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
extern "C++" { /* also where leat.h is included between the braces of an extern "C" */
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

} /* namespace leat_typed */
}
#define leat_write(...) leat_typed::write(__VA_ARGS__)
#define leat_write_block(...) leat_typed::write_block(__VA_ARGS__)
#define leat_read(...) leat_typed::read(__VA_ARGS__)
#define leat_read_block(...) leat_typed::read_block(__VA_ARGS__)
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
/* An array of arrays says its type by a pointer to arrays of any length. */
#define LEAT_CHECKED_(T, number) T*: number, const T*: number, T(*)[]: number, const T(*)[]: number,
#define LEAT_TYPE_OF_(...) _Generic((__VA_ARGS__), LEAT_CHECKED_TYPES_(LEAT_CHECKED_) default: 0)
#define leat_write(variable, ...) leat_write_typed(variable, 0, __VA_ARGS__, LEAT_TYPE_OF_(__VA_ARGS__))
#define leat_write_block(variable, block, ...) \
  leat_write_typed(variable, block, __VA_ARGS__, LEAT_TYPE_OF_(__VA_ARGS__))
#define leat_read(variable, ...) leat_read_typed(variable, 0, __VA_ARGS__, LEAT_TYPE_OF_(__VA_ARGS__))
#define leat_read_block(variable, block, ...) \
  leat_read_typed(variable, block, __VA_ARGS__, LEAT_TYPE_OF_(__VA_ARGS__))
#endif
#endif
