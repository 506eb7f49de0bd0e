/* SPDX-License-Identifier: Apache-2.0 */
/* libleat_server.so: a server for whoever hosts one. leatd is linked with it; others load it with
 * dlopen and look this symbol up. Private: host and library are of one Leat, which the version
 * says. */
#ifndef LEAT_SERVER_LIBRARY_H
#define LEAT_SERVER_LIBRARY_H

#ifdef __cplusplus
extern "C" {
#endif

#define LEAT_SERVER_ABI 2

/* Is told once that the server is ready, status 0, or why there is none. Returns 0, or else the
 * server ends: it is not wanted any more. */
typedef int leat_server_told(void* context, int status, const char* message);

struct leat_server_library {
  unsigned abi;        /* LEAT_SERVER_ABI; the rest is read only when it is that */
  unsigned size;       /* of this struct */
  const char* version; /* of Leat */
  /* All that leatd does with its command line, in a process of its own. Returns its exit status. */
  int (*run)(int argc, char** argv);
  /* The same in a process that goes on afterwards: what is open stays so, and signals, folder and
   * cores are as before when it returns. The loop is the calling thread's. */
  int (*serve)(int argc, char** argv, leat_server_told* told, void* context);
};

__attribute__((visibility("default"))) extern const struct leat_server_library leat_server_library;

#ifdef __cplusplus
}
#endif
#endif
