/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of Damaris 1.9, by Leat: a program written for Damaris compiles against this header and links libdamaris.so unchanged.
 *
 * Names, arguments, numbers and what a call is for are those of Damaris; docs/reference/damaris.md has, call by call, what of Leat
 * each one is and where it differs. The XML is that of Damaris, as it is, or one of Leat's own.
 *
 * Each call returns DAMARIS_OK or what was wrong, and says once on standard error what that is. None aborts, none waits longer than
 * the timeout of the XML's buffer. damaris_initialize, damaris_start, damaris_stop and damaris_finalize are collective, and return
 * the same on all ranks where something is wrong on one. As with Damaris, one thread at a time makes calls.
 */
#ifndef DAMARIS_H
#define DAMARIS_H

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

/* Of the Damaris whose calls these are; the CMake package and pkg-config have it from here. */
#define DAMARIS_VERSION_MAJOR 1
#define DAMARIS_VERSION_MINOR 9
#define DAMARIS_VERSION_PATCH 0
#define DAMARIS_VERSION "1.9.0"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DAMARIS_API __attribute__((visibility("default")))
#else
#define DAMARIS_API
#endif

enum {
  DAMARIS_OK = 0,
  DAMARIS_INIT_ERROR,          /* damaris_initialize or damaris_start failed */
  DAMARIS_FINALIZE_ERROR,      /* something that was written could not be stored */
  DAMARIS_CORE_IS_SERVER,      /* this rank was a server: it writes nothing */
  DAMARIS_NO_SERVER,           /* there always is a server: no call returns it */
  DAMARIS_ALLOCATION_ERROR,    /* no memory for the block, or no room for it in the buffer in time */
  DAMARIS_CONFIG_ERROR,        /* the XML does not say what the call needs */
  DAMARIS_ARGUMENT_ERROR,      /* a pointer is NULL, or a size does not fit the type */
  DAMARIS_MPI_ERROR,           /* MPI is not initialised, or finalised already */
  DAMARIS_DATASPACE_ERROR,     /* no call returns it */
  DAMARIS_CHANNEL_ERROR,       /* the server does not answer, or is gone */
  DAMARIS_INVALID_TAG,         /* no call returns it */
  DAMARIS_NOT_INITIALIZED,     /* before damaris_initialize, or before damaris_start where that makes ranks servers */
  DAMARIS_ALREADY_INITIALIZED, /* damaris_initialize again without damaris_finalize */
  DAMARIS_UNDEFINED_ACTION,    /* no event of this name in the XML, and no function bound to it */
  DAMARIS_UNDEFINED_PARAMETER, /* no parameter of this name in the XML */
  DAMARIS_UNDEFINED_VARIABLE,  /* no variable of this name in the XML */
  DAMARIS_INVALID_BLOCK,       /* a block number is negative */
  DAMARIS_INVALID_DIMENSIONS,  /* extents, global extents and position do not fit each other */
  DAMARIS_BLOCK_NOT_FOUND,     /* commit or clear of a block that has no memory from damaris_alloc */
  DAMARIS_REACTOR_NOT_FOUND,   /* no call returns it */
  DAMARIS_BIND_ERROR,          /* the function to bind is NULL */
  DAMARIS_ERROR_UNKNOWN        /* a system call failed, or Leat is at fault */
};

/* Types of the values of variables: the C types that they are called after. */
typedef enum {
  DAMARIS_TYPE_UNDEFINED = -1, /* what no C type of this list is, like complex numbers */
  DAMARIS_TYPE_SHORT,
  DAMARIS_TYPE_INT,
  DAMARIS_TYPE_LONG,
  DAMARIS_TYPE_FLOAT,
  DAMARIS_TYPE_DOUBLE,
  DAMARIS_TYPE_CHAR,
  DAMARIS_TYPE_USHORT,
  DAMARIS_TYPE_UINT,
  DAMARIS_TYPE_ULONG,
  DAMARIS_TYPE_UCHAR
} DAMARIS_TYPE_STR;

/* What Damaris may be built with. The numbers of both lists are Leat's own: a program is compiled with this header. */
typedef enum { DAMARIS_HAS_HDF5, DAMARIS_HAS_PYTHON, DAMARIS_HAS_VISIT, DAMARIS_HAS_CATALYST } DAMARIS_PLUGIN_TYPE;

/* What damaris_bind binds: name of the signal, rank that signalled, its iteration, and NULL. */
typedef void (*signal_t)(const char*, int32_t, int32_t, const char*);

/* Reads the XML `configfile`, a path, or the XML itself, which begins with "<"; what counts is that of the first rank of `comm`. All
 * of its errors are said at once. Parameters can be read and set from here on, also on ranks that will be servers. */
DAMARIS_API int damaris_initialize(const char* configfile, MPI_Comm comm);
/* Waits until all that was written is stored, unless damaris_stop has. */
DAMARIS_API int damaris_finalize(void);
/* *is_client: 1 on ranks that compute, which go on at once; 0 on ranks that were servers, which come back at the end of the run. */
DAMARIS_API int damaris_start(int* is_client);
/* On clients: no more data until another damaris_start. Ranks that are servers come back from theirs. */
DAMARIS_API int damaris_stop(void);

/* Hand over block 0, or `block`, of a variable in the current iteration; the data are the caller's again. */
DAMARIS_API int damaris_write(const char* varname, const void* data);
DAMARIS_API int damaris_write_block(const char* varname, int32_t block, const void* data);

/* Memory of the buffer to compute in. It is handed over by commit, may be read until the end of the iteration, and is
 * let go by clear. */
DAMARIS_API int damaris_alloc(const char* varname, void** ptr);
DAMARIS_API int damaris_alloc_block(const char* varname, int32_t block, void** ptr);
DAMARIS_API int damaris_commit(const char* varname);
DAMARIS_API int damaris_commit_block(const char* varname, int32_t block);
DAMARIS_API int damaris_commit_iteration(const char* varname, int32_t iteration);
DAMARIS_API int damaris_commit_block_iteration(const char* varname, int32_t block, int32_t iteration);
DAMARIS_API int damaris_clear(const char* varname);
DAMARIS_API int damaris_clear_block(const char* varname, int32_t block);
DAMARIS_API int damaris_clear_iteration(const char* varname, int32_t iteration);
DAMARIS_API int damaris_clear_block_iteration(const char* varname, int32_t block, int32_t iteration);

/* Signals an event of the XML, or calls the function bound to the name. */
DAMARIS_API int damaris_signal(const char* signal_name);
DAMARIS_API int damaris_bind(const char* signal_name, signal_t sig);

/* The value of a parameter, as the C type of `size` bytes: integers of 1, 2, 4 or 8, float or double, text. */
DAMARIS_API int damaris_parameter_get(const char* param_name, void* buffer, unsigned int size);
DAMARIS_API int damaris_parameter_set(const char* param_name, const void* buffer, unsigned int size);

/* Where a block begins in the global array from now on, one number per dimension; 0 where it is never said. */
DAMARIS_API int damaris_set_position(const char* var_name, const int64_t* position);
DAMARIS_API int damaris_set_block_position(const char* var_name, int32_t block, const int64_t* position);

/* The communicator of the ranks that compute. It is not to be freed. */
DAMARIS_API int damaris_client_comm_get(MPI_Comm* comm);
DAMARIS_API int damaris_end_iteration(void);
/* From 0 on. */
DAMARIS_API int damaris_get_iteration(int* iteration);

/* The type of the values of a variable, as its layout in the XML has it. */
DAMARIS_API int damaris_get_type(const char* variable_name, DAMARIS_TYPE_STR* vartype);
/* 1: files of HDF5, scripts in Python; 0: what Leat has not. No code: it may be called at any time. */
DAMARIS_API int damaris_has_plugin(DAMARIS_PLUGIN_TYPE plugin);
/* What a code means, in a few words, for messages of the program; what was wrong in a call is on standard error. Never NULL. */
DAMARIS_API const char* damaris_error_string(int code);

#ifdef __cplusplus
}
#endif

#endif
