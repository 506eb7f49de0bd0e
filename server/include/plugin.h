/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leat plugin ABI, version 1.
 *
 * A plugin is a shared library that exports one constant object:
 *
 *     LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {
 *         .abi = LEAT_PLUGIN_ABI, .size = sizeof(leat_plugin), .name = "mine",
 *         .open = my_open, .iteration = my_iteration, .close = my_close};
 *
 * Conventions
 *  1. The first two words of leat_plugin_entry, ABI number and size, are read from the file before it is loaded.
 *     Another ABI number is refused and no code of the plugin runs, not even its constructors.
 *  2. Prefix rule: within one ABI number, structs only grow at their end. Every struct starts with its size in
 *     bytes as the writer knew it; a reader uses a field only when it lies inside that size.
 *     Arrays of structs come with a stride; use leat_variable_at() and leat_block_at(), never x[i].
 *  3. Functions return 0 for success. Anything else is a failure of this plugin for this call only: it is logged
 *     with the last message given to host->log at LEAT_LOG_ERROR, the run is told, other plugins go on.
 *     C++ exceptions must not leave a plugin (plugin.hpp catches them).
 *  4. All calls for one plugin come from one thread at a time, not necessarily always the same thread; but chunk().
 *  5. Everything that the host passes is the host's and is valid until the call returns, except `leat_run` and all
 *     that it points to, and `leat_host`, which are valid until close() returns. Block data are read-only.
 *  6. Strings are UTF-8 and never NULL ("" for nothing). Arrays are in C order: the last dimension is contiguous.
 */
#ifndef LEAT_PLUGIN_H
#define LEAT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define LEAT_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define LEAT_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

#define LEAT_PLUGIN_ABI 1u
#define LEAT_PLUGIN_MAX_DIMS 8

/* Element types; the numbers are those of lib/base/scalar_types.def. Complex numbers are (real, imaginary) pairs. */
enum leat_scalar {
  LEAT_INT8 = 1, LEAT_INT16 = 2, LEAT_INT32 = 3, LEAT_INT64 = 4,
  LEAT_UINT8 = 5, LEAT_UINT16 = 6, LEAT_UINT32 = 7, LEAT_UINT64 = 8,
  LEAT_FLOAT32 = 9, LEAT_FLOAT64 = 10, LEAT_COMPLEX64 = 11, LEAT_COMPLEX128 = 12, LEAT_CHAR = 13
};

enum leat_log_level { LEAT_LOG_DEBUG = 0, LEAT_LOG_INFO = 1, LEAT_LOG_WARNING = 2, LEAT_LOG_ERROR = 3 };

typedef struct leat_option {
  const char* name;
  const char* value;
} leat_option;

/* One dimension of a variable. */
typedef struct leat_dimension {
  const char* name;    /* its name in files: "y" */
  int64_t ghost_low;   /* layers of ghost cells before and after the block's own cells; */
  int64_t ghost_high;  /* the extents of a block include them, its position and the global extents do not */
  int32_t varying;     /* 1: its extent may differ from block to block and from iteration to iteration */
  uint32_t centering;  /* enum leat_centering, where values on a uniform mesh lie along it; 0: as the variable's says */
} leat_dimension;

/* What the XML says of a variable; the same for all ranks and iterations. */
typedef struct leat_variable {
  uint64_t size;
  const char* name;         /* full name, groups joined by '/': "fields/temperature" */
  const char* unit;
  const char* description;
  uint32_t type;            /* enum leat_scalar */
  uint32_t dims;            /* 0 to LEAT_PLUGIN_MAX_DIMS; 0 is a scalar */
  leat_dimension dimension[LEAT_PLUGIN_MAX_DIMS];
  int32_t has_global;       /* 1: blocks have a place in a global array */
  int32_t time_varying;     /* 0: written once, not once per iteration */
  const leat_option* options;
  uint64_t option_count;
  int32_t mesh;             /* index into leat_run's meshes, -1 for none; leat_variable_mesh() asks an older host too */
  uint32_t centering;       /* enum leat_centering */
  const char* standard_name;  /* of the CF conventions, or "" */
  const char* cell_methods;
  const char* comment;      /* of the CF conventions, or ""; leat_variable_comment() asks an older host too */
  const char* definition;   /* how it is made of other variables, as the XML says; "" of one that ranks write. Hosts that have it say so by `size` */
  const char* vector;       /* "velocity[0]": it is this component of that <vector> of the XML; "": of none. As `definition` */
} leat_variable;

enum leat_mesh_kind {
  LEAT_MESH_UNIFORM = 1, LEAT_MESH_RECTILINEAR = 2, LEAT_MESH_CURVILINEAR = 3, LEAT_MESH_UNSTRUCTURED = 4,
  LEAT_MESH_POINTS = 5, LEAT_MESH_AMR = 6
};
enum leat_centering { LEAT_ZONAL = 1, LEAT_NODAL = 2, LEAT_UNPLACED = 3 };

/* Where in space values lie. Axes are in the order x, y, z; x runs along the last dimension of a variable. */
typedef struct leat_mesh {
  uint64_t size;
  const char* name;
  const char* unit;         /* uniform, amr: of origin and spacing */
  const char* description;
  uint32_t kind;            /* enum leat_mesh_kind */
  uint32_t dims;            /* axes: 1 to 3 */
  /* NaN in leat_run where parameters of the simulation give them: leat_iteration_mesh() has what they are. */
  double origin[3];         /* uniform, amr: of the first node, */
  double spacing[3];        /* and from one node to the next; amr: of level 0 */
  /* The others: indices of variables. rectilinear: one for each axis, of one dimension. curvilinear: one for each axis,
   * as many dimensions as axes. Both have as many values as there are cells (centres), or one more in each dimension
   * (nodes). unstructured, points: one for each axis, or a single one (points, axes). */
  uint32_t coordinate_count;
  int32_t coordinate[3];
  /* unstructured: indices of variables, -1 for none. */
  int32_t connectivity;     /* point numbers, from 0 within the block of the same rank and number */
  int32_t offsets;          /* for each cell where its points begin, and as the last value where they end */
  int32_t types;            /* VTK's numbers of the cells' shapes. Source: vtkCellType.h */
  uint32_t cell_type;       /* the one number when all cells are of one shape: then no offsets and types; else 0 */
  /* amr: blocks are patches of levels; the spacing of level l is `spacing` divided by `ratio` l times. */
  int32_t ratio;            /* 2 or more; the same along all axes and for all levels */
  int32_t levels;           /* how many there are at most; 0: not known */
} leat_mesh;

/* One array that one rank wrote in one iteration. */
typedef struct leat_block {
  uint64_t size;
  uint32_t variable;        /* index into leat_run's variables */
  uint32_t block;           /* number of the block within its rank */
  int32_t rank;             /* of the writer, in the simulation's own numbering */
  int32_t has_position;     /* 1: `position` and `global` hold. Always so when the variable has a global shape */
  int64_t extent[LEAT_PLUGIN_MAX_DIMS];    /* elements in each dimension, ghosts included; any may be 0 */
  int64_t position[LEAT_PLUGIN_MAX_DIMS];  /* of the first cell that is no ghost, in the global array, from 0 */
  int64_t global[LEAT_PLUGIN_MAX_DIMS];    /* extents of the global array in this iteration */
  const void* data;         /* C order, ghosts included */
  uint64_t bytes;
  uint32_t checksum;        /* CRC-32C (RFC 3720) of the `bytes` at `data`, as the simulation handed them over */
  uint32_t has_checksum;    /* 0: it has none, the XML asks for none */
  /* 1: a patch of an amr mesh. `position` is that of its first cell that is no ghost among the cells of `level`; has_position
   * is 0, and `global` nothing. Always so when the variable's mesh is one. leat_block_has_level() asks an older host too. */
  int32_t has_level;
  int32_t level;            /* from 0, the coarsest */
} leat_block;

/* What a parameter of the XML is at the end of an iteration, as the first rank of the node has it. */
typedef struct leat_parameter {
  uint64_t size;
  const char* name;
  uint32_t type;            /* LEAT_INT64, LEAT_FLOAT64, or LEAT_CHAR for text: says which of the three below holds */
  int32_t has_value;        /* 0: nobody has set it so far */
  int64_t integer;
  double real;
  const char* text;
} leat_parameter;

typedef struct leat_iteration_data {
  uint64_t size;
  int64_t iteration;
  const leat_block* blocks; /* of the variables this plugin takes; ordered by variable, rank, block */
  uint64_t block_count;
  uint64_t block_stride;    /* bytes from one block to the next */
  int32_t complete;         /* 0: some rank died before it ended this iteration, or a block lost its checksum; the others are here */
  int32_t reserved;
  const leat_parameter* parameters; /* all of the XML, in its order */
  uint64_t parameter_count;
  uint64_t parameter_stride;  /* bytes from one parameter to the next; use leat_parameter_at() */
  uint64_t waiting;         /* iterations behind this one that wait for the plugins; use leat_iteration_waiting() */
  const int32_t* died;      /* ranks that died in this iteration or before: leat_iteration_died_count() of them */
  uint64_t died_count;
  int32_t has_window;       /* 1: what this plugin takes is over a period of time; use leat_iteration_window() */
  int32_t reserved_too;
  double window[2];         /* begin and end of it, in the unit of the time; of a run without one, its first and its last iteration */
  /* The run's meshes, in its order, as they lie in this iteration; NULL where the XML alone says it. Use leat_iteration_mesh(). */
  const leat_mesh* meshes;
  uint64_t mesh_stride;     /* bytes from one to the next */
} leat_iteration_data;

/* One product: an array, or number (dims is 0), that a script or another plugin made of an iteration. */
typedef struct leat_result {
  uint64_t size;
  const char* name;         /* unique within its source */
  const char* unit;
  uint32_t type;            /* enum leat_scalar */
  uint32_t dims;            /* 0 to LEAT_PLUGIN_MAX_DIMS */
  const char* dimension[LEAT_PLUGIN_MAX_DIMS];  /* names */
  int64_t extent[LEAT_PLUGIN_MAX_DIMS];         /* may differ from iteration to iteration */
  const void* data;         /* C order */
  uint64_t bytes;
} leat_result;

enum leat_source_kind { LEAT_FROM_SCRIPT = 0, LEAT_FROM_PLUGIN = 1 };

/* What one script or plugin made of one iteration, and has published together. */
typedef struct leat_result_set {
  uint64_t size;
  const char* source;       /* name of the script, or of the <store> that the plugin serves */
  int64_t iteration;
  const leat_result* results;
  uint64_t result_count;
  uint64_t result_stride;   /* bytes from one result to the next; use leat_result_at() */
  uint32_t source_kind;     /* enum leat_source_kind; leat_result_set_kind() asks an older host too */
  uint32_t of_run;          /* 1: of what all servers of the run gave to a reduction; 0 in an older host too */
} leat_result_set;

/* Values of leat_run.resumed but 0. */
enum { LEAT_RUN_RESUMED = 1, LEAT_RUN_DRAINED = 2 };

/* What does not change during a run. */
typedef struct leat_run {
  uint64_t size;
  const char* simulation;   /* name in the XML */
  const char* session;      /* unique for this run on this node */
  const char* store;        /* name of the <store> element that this plugin instance serves */
  const char* xml;          /* text of the configuration file */
  int32_t ranks;            /* of the simulation, on all nodes */
  int32_t node_ranks;       /* of them, on this node */
  const leat_variable* variables;
  uint64_t variable_count;
  uint64_t variable_stride;
  const leat_option* options;  /* of the <store> element */
  uint64_t option_count;
  /* 1: this store was open in this run before, in a server that died; go on with its output. Iterations and results
   * that it has finished already may come again (the last ones): who can tell ignores them and returns success. What
   * the dead one had not finished comes again too, and may be there in part. Ask leat_run_is_resumed().
   * 2, LEAT_RUN_DRAINED: the same, and all ranks are dead; another run may have begun to write here since. */
  int32_t resumed;
  /* Which of the iteration's parameters is the time of the simulation, -1 for none: leat_run_time_parameter(). */
  int32_t time_parameter;
  const char* time_unit;    /* "s", "days since 2000-01-01" */
  const char* calendar;     /* of the CF conventions */
  const char* description;  /* of the simulation */
  const leat_mesh* meshes;  /* leat_run_mesh_count() of them */
  uint64_t mesh_count;
  uint64_t mesh_stride;     /* bytes from one mesh to the next; use leat_mesh_at() */
  /* When ranks > node_ranks there are servers like this one on other nodes, of the same session name, each with a plugin
   * like this. The lowest rank on this node tells them apart, and is the same after a failover. leat_run_first_rank(). */
  int32_t first_rank;
  /* Tells this run from others of the same session name; the same after a failover. leat_run_number(). */
  int32_t run_number;
  /* 1: other threads of this process are the simulation's own, so what it uses too and is not thread-safe cannot be used
   * here. 0: the process is the server's. leat_run_is_in_simulation(). */
  int32_t in_simulation;
  /* 0: the server has these ranks for the whole run. Else another server may go on with them after it, or this one goes on after
   * another: then the output of each is one of several, which the number tells apart, later ones have greater ones; as if there
   * were other nodes. leat_run_succession(). */
  int32_t succession;
  /* The ranks of this server, node_ranks of them, ascending; NULL where they are not known. leat_run_own_ranks(). */
  const int32_t* own_ranks;
} leat_run;

/* Operations of a plugin over all servers of its run. */
enum leat_reduce_op { LEAT_REDUCE_SUM = 1, LEAT_REDUCE_MIN = 2, LEAT_REDUCE_MAX = 3, LEAT_REDUCE_GATHER = 4 };

/* In `sizes` of a gathered column: this server has given nothing. */
#define LEAT_GAVE_NOTHING UINT64_MAX

/* Numbers, each reduced with those in the same place of other servers; or bytes that all servers get. */
typedef struct leat_column {
  uint64_t size;
  uint32_t type;            /* LEAT_INT64 (sums modulo 2^64) or LEAT_FLOAT64; LEAT_UINT8 of what is gathered */
  uint32_t op;              /* enum leat_reduce_op; an older server refuses LEAT_REDUCE_GATHER */
  uint64_t count;           /* how many; of bytes that are gathered, each server may give another number */
  /* Of sums of doubles: each is the exact sum of so many doubles, which stand one after the other; else 1. Sums are rounded once,
   * when all servers' are together: in an outcome there are 2, the nearest double, and the nearest to what is left. */
  uint64_t terms;
  const void* values;       /* count * terms */
  /* Of an outcome's gathered bytes, which stand in `values` in the order of the servers: how many are of each, `servers` numbers; where
   * all servers together give more than 48 MiB in a call, some have LEAT_GAVE_NOTHING. Else NULL. Nothing in what a plugin gives. */
  const uint64_t* sizes;
} leat_column;

/* What all servers of the run have made of it together. */
typedef struct leat_reduction {
  uint64_t size;
  int64_t iteration;        /* in whose call it was asked for */
  const leat_column* columns;
  uint64_t column_count;    /* as were given */
  uint64_t column_stride;   /* bytes from one column to the next; use leat_column_at() */
  int32_t servers;          /* of the run */
  int32_t servers_missing;  /* that gave nothing: they have died, or have not got the iteration */
  int32_t is_first;         /* 1: of those that gave something this is the first; on one server */
  int32_t server;           /* which of them this one is, from 0 on */
} leat_reduction;

/* What the server offers to a plugin. `context` is passed back to each function. */
typedef struct leat_host {
  uint64_t size;
  void* context;
  void (*log)(void* context, int level, const char* message);
  /* What of the run was written, stored, dropped and lost so far: JSON, see docs/reference/ledger.md; in close() all but
   * that call itself. "" outside of a run. Valid until the next call of it; may be called in the plugin's calls only.
   * Use leat_host_ledger(): an older server has none. */
  const char* (*ledger)(void* context);
  /* "This much more is done": bytes compressed, written, sent, or whatever the plugin's work is counted in; from any
   * thread. leat_finalize gives up when for the <buffer timeout> nothing is done: a plugin whose calls may take longer
   * says so every now and then, and only when something is done. Use leat_host_progress(): an older server has none. */
  void (*progress)(void* context, uint64_t bytes);
  /* Publishes what the plugin has made of what it is called with: to be called within iteration() or results(), from their
   * thread; within results() only products that <store publishes="..."> names. When all plugins have had that iteration,
   * those that subscribe (<store products="...">, and scripts) get it by results(). What a plugin publishes in a call that fails is dropped. When the server dies before all have got it, the plugin gets
   * the iteration again, and publishes again. `set`: size, results, result_count and result_stride count; the server fills
   * in the rest, and copies names and descriptions. Data: with `release` they stay where they are, and release(memory) is
   * called once, from any thread, when nobody reads them any more, or at once when the call fails; with NULL they are
   * copied. 0, or 1 with the reason in the log. Use leat_host_publish(): an older server has none. */
  int (*publish)(void* context, const leat_result_set* set, void (*release)(void* memory), void* memory);
  /* Where servers are ranks of the job (place="ranks"): points to an MPI_Comm of the simulation's MPI, in which are the servers of
   * all nodes, and nothing but plugins communicates. All plugins share it: one of an XML may use it, or, where MPI has
   * MPI_THREAD_MULTIPLE, each a duplicate of its own. A collective call returns when the plugin makes it on all servers: an
   * iteration that one of them leaves out, or a plugin that fails on one, lets the others wait. It is freed after close(), by
   * the server. NULL where there is none: a server in a process of its own; leat_split was called by Fortran or Python; MPI is
   * not at MPI_THREAD_SERIALIZED, since plugins run on threads of their own: the log says so. Use leat_host_mpi_comm(): an
   * older server has none. */
  void* (*mpi_comm)(void* context);
  /* Reduces over all servers of the run, and does not wait for it: to be called within iteration() (begin() and finish() too), with
   * the same columns on all servers; what is given in a call that fails is dropped. Columns are copied. Later, when all servers
   * have given theirs or can give none, done(user, outcome) is called once, as a call of the plugin is: from one thread at a time, at
   * the end before close(). The next iterations may come before it; where the server has the whole run, it comes at the end of the
   * same call. It may publish, of that iteration, and reduce again, what needs the outcome; returns 0, else what was made of that iteration is lost for who
   * subscribes to it. `outcome` is NULL when there is none: the call has failed, or what this server gave does not fit what the others gave. Not
   * called when the server dies; a plugin that gets the iteration again from the next one, reduces again and gets the same outcome. 0, or 1
   * with the reason in the log. NULL where the plugin is in a process of its own, of a run of several servers; use
   * leat_host_reduce(): an older server has none. */
  int (*reduce)(void* context, const leat_column* columns, uint64_t column_count, uint64_t column_stride,
                int (*done)(void* user, const leat_reduction* outcome), void* user);
  /* For a store whose servers write into `files` files together: waits for this server's turn in one of them, and says in which, from
   * 0 on: no other server of the run has a turn in that until this call of the plugin ends. -1: there is no turn for this server, as when
   * the others are not to be reached, or it has waited for too long: it writes into a file of its own then. Within iteration(),
   * results() and close(), from their thread; once it has said so, it says the same until the call ends, or until it is called with 0, which ends the
   * turn before the call does. A turn is no lock: a server that is stopped for too
   * long has lost it without knowing. Use leat_host_shared_file(): an older server has none. */
  int32_t (*shared_file)(void* context, int32_t files);
  /* Gives a parameter of the XML a new value, as ctx.set() of scripts does: all ranks of the run have it from the same iteration on, some
   * iterations after this one. Of `parameter`, name, type and what holds by its type count; an integer is good for a real parameter. Within
   * the plugin's calls, from any thread. 0: it is asked for, and the log says from which iteration on it holds, or why it cannot; 1 with the
   * reason in the log. NULL where the plugin is in a process of its own; use leat_host_set(): an older server has none. */
  int (*set)(void* context, const leat_parameter* parameter);
} leat_host;

typedef struct leat_plugin {
  uint32_t abi;             /* LEAT_PLUGIN_ABI; first, always */
  uint32_t size;            /* sizeof(leat_plugin) */
  const char* name;
  /* Once, before the first iteration. *state is the plugin's own and is passed to the calls below.
   * After a failure close() is not called and the plugin is not used in this run. */
  int (*open)(const leat_run* run, const leat_host* host, void** state);
  /* For each iteration that holds a block of a variable this plugin takes, in ascending order. In a resumed run the
   * first ones may be some that were stored before. What was written once, in an iteration that the <store> does not
   * take, comes with the next one that it takes. */
  int (*iteration)(void* state, const leat_iteration_data* data);
  /* Once, after the last iteration; all must be on disk, as far as the plugin promises it, on return. */
  int (*close)(void* state);
  /* What a script or another plugin made of an iteration, as far as the <store> subscribes to it; NULL: the plugin takes no
   * such. Calls come between those of iteration(), in ascending order for each source; those of scripts not at once after
   * the iteration that they are about. */
  int (*results)(void* state, const leat_result_set* set);
  /* An <event> that names the <store> happens in this iteration; NULL: the plugin is told of none. Once each time, in the order
   * of the ranks' calls, after iteration() of all iterations before and before that of this one, which may hold nothing for the
   * plugin. rank: of the one that has signalled it; -1: all ranks have, as its scope says, or somebody outside. args: "".
   * A failure counts as one of this iteration; the plugin gets that all the same. When the server dies, what it was at comes
   * again, with the iteration. */
  int (*on_signal)(void* state, const char* event, int32_t rank, int64_t iteration, const char* args);
  /* An iteration in pieces, in place of iteration(): all three, or none. begin() says in how many pieces it is done, maybe 0.
   * chunk() does one: once for each number from 0 to chunks - 1, in any order, several at a time, on any threads, maybe those of
   * the simulation, with other open files. It reads what begin() made, writes to its own place, may call log and progress. Then
   * finish(), from the thread of begin(), which may publish. `data` is valid until finish() has returned. When begin() or a
   * chunk fails, no other is begun, and finish() is not called; begin() comes again with another iteration. An older host knows only
   * iteration(), which does all of it then. */
  int (*begin)(void* state, const leat_iteration_data* data, uint64_t* chunks);
  int (*chunk)(void* state, uint64_t number);
  int (*finish)(void* state);
  /* Called before all others, and before the simulation goes on: NULL, or why this plugin cannot serve this run, which
   * leat_init returns then; the text is valid until the next call. run->first_rank is not known yet. NULL in place of the
   * function: open() says. A server that takes over goes on without the answer. */
  const char* (*check)(const leat_run* run);
  /* 1: of the blocks of this variable, which has a global shape, the plugin makes one array by their positions. Then cells that
   * no block has are holes, of blocks that have the same cells one is kept, and the server warns of both. 0: it keeps each block
   * by itself, or has places of its own for their values. Called when check() would be, or later; NULL in place of the function: 1. */
  int (*makes_whole)(const leat_run* run, uint64_t variable);
  /* 1: the plugin stores values of this variable as its options store-type, scale, offset and keep-bits say. Then the server reports
   * those that have no place there. 0: it stores them as they are in memory. Called as makes_whole(); NULL in place of the function: 0. */
  int (*changes_values)(const leat_run* run, uint64_t variable);
} leat_plugin;

/* 0 in a host from before there was such a thing. */
static inline int leat_run_is_resumed(const leat_run* run) {
  return run->size >= offsetof(leat_run, resumed) + sizeof run->resumed && run->resumed != 0;
}

static inline int leat_run_is_in_simulation(const leat_run* run) {
  return run->size >= offsetof(leat_run, in_simulation) + sizeof run->in_simulation && run->in_simulation != 0;
}

static inline int leat_run_is_drained(const leat_run* run) {
  return leat_run_is_resumed(run) && run->resumed == LEAT_RUN_DRAINED;
}

/* 0, not known, in a host from before there was such a thing. */
static inline int32_t leat_run_number(const leat_run* run) {
  return run->size >= offsetof(leat_run, run_number) + sizeof run->run_number ? run->run_number : 0;
}

/* -1, not known, in a host from before there was such a thing. */
static inline int32_t leat_run_first_rank(const leat_run* run) {
  return run->size >= offsetof(leat_run, first_rank) + sizeof run->first_rank ? run->first_rank : -1;
}

/* 0 in a host from before there was such a thing, which had 0 in its place. */
static inline int32_t leat_run_succession(const leat_run* run) {
  return run->size >= offsetof(leat_run, succession) + sizeof run->succession ? run->succession : 0;
}

/* NULL in a host from before there was such a thing. */
static inline const int32_t* leat_run_own_ranks(const leat_run* run) {
  return run->size >= offsetof(leat_run, own_ranks) + sizeof run->own_ranks ? run->own_ranks : NULL;
}

/* -1, none, in a host from before there was such a thing; the same for the next three. */
static inline int32_t leat_run_time_parameter(const leat_run* run) {
  return run->size >= offsetof(leat_run, calendar) + sizeof run->calendar ? run->time_parameter : -1;
}

static inline uint64_t leat_run_mesh_count(const leat_run* run) {
  return run->size >= offsetof(leat_run, mesh_stride) + sizeof run->mesh_stride ? run->mesh_count : 0;
}

static inline const leat_mesh* leat_mesh_at(const leat_run* run, uint64_t i) {
  return (const leat_mesh*)((const char*)run->meshes + i * run->mesh_stride);
}

/* Mesh number i of the run as it lies in this iteration. Origin and spacing are NaN where parameters give them and have no value yet, or none
   that makes sense. */
static inline const leat_mesh* leat_iteration_mesh(const leat_run* run, const leat_iteration_data* data, uint64_t i) {
  const int has = data->size >= offsetof(leat_iteration_data, mesh_stride) + sizeof data->mesh_stride && data->meshes;
  return has ? (const leat_mesh*)((const char*)data->meshes + i * data->mesh_stride) : leat_mesh_at(run, i);
}

/* NULL when it is on none. */
static inline const leat_mesh* leat_variable_mesh(const leat_run* run, const leat_variable* variable) {
  const int is_said = variable->size >= offsetof(leat_variable, centering) + sizeof variable->centering;
  return is_said && variable->mesh >= 0 && (uint64_t)variable->mesh < leat_run_mesh_count(run)
             ? leat_mesh_at(run, (uint64_t)variable->mesh)
             : NULL;
}

/* "" in a host from before there was such a thing. */
static inline const char* leat_variable_comment(const leat_variable* variable) {
  return variable->size >= offsetof(leat_variable, comment) + sizeof variable->comment ? variable->comment : "";
}

/* 0 in a host from before there was such a thing. */
static inline int leat_block_has_level(const leat_block* block) {
  return block->size >= offsetof(leat_block, level) + sizeof block->level && block->has_level != 0;
}

static inline const char* leat_host_ledger(const leat_host* host) {
  return host->size > offsetof(leat_host, ledger) && host->ledger ? host->ledger(host->context) : "";
}

static inline void leat_host_progress(const leat_host* host, uint64_t bytes) {
  if (host->size > offsetof(leat_host, progress) && host->progress) host->progress(host->context, bytes);
}

/* -1 with an older server, which cannot; then release(memory) has been called too. */
static inline int leat_host_publish(const leat_host* host, const leat_result_set* set, void (*release)(void* memory),
                                    void* memory) {
  if (host->size > offsetof(leat_host, publish) && host->publish)
    return host->publish(host->context, set, release, memory);
  if (release) release(memory);
  return -1;
}

/* An MPI_Comm*, or NULL. */
static inline void* leat_host_mpi_comm(const leat_host* host) {
  return host->size > offsetof(leat_host, mpi_comm) && host->mpi_comm ? host->mpi_comm(host->context) : NULL;
}

static inline int leat_host_can_reduce(const leat_host* host) {
  return host->size > offsetof(leat_host, reduce) && host->reduce != NULL;
}

/* -1 where the server cannot; then done() is never called, as with 1. */
static inline int leat_host_reduce(const leat_host* host, const leat_column* columns, uint64_t column_count,
                                   int (*done)(void* user, const leat_reduction* outcome), void* user) {
  if (!leat_host_can_reduce(host)) return -1;
  return host->reduce(host->context, columns, column_count, sizeof(leat_column), done, user);
}

/* -1 with an older server. */
static inline int32_t leat_host_shared_file(const leat_host* host, int32_t files) {
  return host->size > offsetof(leat_host, shared_file) && host->shared_file ? host->shared_file(host->context, files) : -1;
}

/* -1 where the server cannot. */
static inline int leat_host_set(const leat_host* host, const leat_parameter* parameter) {
  return host->size > offsetof(leat_host, set) && host->set ? host->set(host->context, parameter) : -1;
}

static inline const leat_column* leat_column_at(const leat_reduction* outcome, uint64_t i) {
  return (const leat_column*)((const char*)outcome->columns + i * outcome->column_stride);
}

static inline uint32_t leat_result_set_kind(const leat_result_set* set) {
  return set->size > offsetof(leat_result_set, source_kind) ? set->source_kind : (uint32_t)LEAT_FROM_SCRIPT;
}

/* 0 in a host from before there was such a thing. */
static inline uint64_t leat_iteration_waiting(const leat_iteration_data* data) {
  return data->size >= offsetof(leat_iteration_data, waiting) + sizeof data->waiting ? data->waiting : 0;
}

/* 0 in a host from before there was such a thing. */
static inline uint64_t leat_iteration_died_count(const leat_iteration_data* data) {
  return data->size >= offsetof(leat_iteration_data, died_count) + sizeof data->died_count ? data->died_count : 0;
}

/* Begin and end of the period that blocks of this iteration are over; NULL where they are of the iteration alone, and in a host from before there
   was such a thing. */
static inline const double* leat_iteration_window(const leat_iteration_data* data) {
  return data->size >= offsetof(leat_iteration_data, window) + sizeof data->window && data->has_window ? data->window : NULL;
}

static inline const leat_variable* leat_variable_at(const leat_run* run, uint64_t i) {
  return (const leat_variable*)((const char*)run->variables + i * run->variable_stride);
}

/* Its number in the run: the inverse of leat_variable_at(). */
static inline uint64_t leat_variable_number(const leat_run* run, const leat_variable* variable) {
  return (uint64_t)((const char*)variable - (const char*)run->variables) / run->variable_stride;
}

static inline const leat_block* leat_block_at(const leat_iteration_data* data, uint64_t i) {
  return (const leat_block*)((const char*)data->blocks + i * data->block_stride);
}

static inline const leat_parameter* leat_parameter_at(const leat_iteration_data* data, uint64_t i) {
  return (const leat_parameter*)((const char*)data->parameters + i * data->parameter_stride);
}

static inline const leat_result* leat_result_at(const leat_result_set* set, uint64_t i) {
  return (const leat_result*)((const char*)set->results + i * set->result_stride);
}

#ifdef __cplusplus
}
#endif
#endif
