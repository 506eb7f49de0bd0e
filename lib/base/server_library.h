/* SPDX-License-Identifier: Apache-2.0 */
/* libleat_server.so: a server for whoever hosts one. leatd is linked with it; others load it with
 * dlopen and look this symbol up. Private: host and library are of one Leat, which the version
 * says. */
#ifndef LEAT_SERVER_LIBRARY_H
#define LEAT_SERVER_LIBRARY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEAT_SERVER_ABI 6

/* Is told once that the server is ready, status 0, or why there is none. Returns 0, or else the
 * server ends: it is not wanted any more. */
typedef int leat_server_told(void* context, int status, const char* message);

/* Threads that the process lends for pieces of analyses, as leat_build.h has it; no functions: none. */
struct leat_server_pieces {
  void* context;
  int (*start)(void* context, const char* schedule, int cores);
  void (*run)(void* context, uint64_t pieces, int (*piece)(void* arg, uint64_t number),
              int (*is_late)(void* arg), void* arg);
};

/* Whose process it is. */
enum leat_server_owner {
  LEAT_SERVER_RANK,  /* the calling thread has nothing else to do until the server returns */
  LEAT_SERVER_THREAD /* the calling thread is the server's own, all others compute */
};

/* The process, and what plugins may want of it; valid until the server returns. */
struct leat_server_host {
  unsigned size;               /* of this struct */
  int owner;                   /* enum leat_server_owner */
  void* mpi_comm;              /* points to an MPI_Comm, or NULL */
  const char* why_no_mpi_comm; /* for those who ask for it, or "" */
  struct leat_server_pieces lent;
};

struct leat_server_library {
  unsigned abi;        /* LEAT_SERVER_ABI; the rest is read only when it is that */
  unsigned size;       /* of this struct */
  const char* version; /* of Leat */
  /* All that leatd does with its command line, in a process of its own. Returns its exit status. */
  int (*run)(int argc, char** argv);
  /* The same in a process that goes on afterwards: what is open stays so, and signals, folder and
   * cores are as before when it returns; with LEAT_SERVER_THREAD they are at all times. The loop is
   * the calling thread's. */
  int (*serve)(int argc, char** argv, const struct leat_server_host* host, leat_server_told* told,
               void* context);
};

__attribute__((visibility("default"))) extern const struct leat_server_library leat_server_library;

#ifdef __cplusplus
}
#endif
#endif
