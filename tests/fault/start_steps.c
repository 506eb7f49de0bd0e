/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a rank and its leatd by a test: sends a signal to the process at one step of its start, once.
 *
 *   LEAT_STEP="<program> <function> <n> before|after <signal>"   at the n-th call of that function (after: that succeeded)
 *   LEAT_STEP_FILE=<path>    gets the process id, so that only one process does it and the test knows which
 *
 * "start" is the program's own start, "lock" a lock of a byte of a file, "ready" leatd's word that it is ready.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static char plan_function[32], plan_when[8];
static int plan_count, plan_signal;

static void act(void) {
  const char* path = getenv("LEAT_STEP_FILE");
  const int fd =
      path ? (int)syscall(SYS_open, path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) : -1;
  char text[16];
  if (fd < 0) return;
  snprintf(text, sizeof text, "%d\n", (int)getpid());
  if (syscall(SYS_write, fd, text, strlen(text)) < 0) abort();
  syscall(SYS_close, fd);
  kill(getpid(), plan_signal);
}

static void step(const char* function, const char* when) {
  const int error = errno;
  if (plan_count > 0 && strcmp(function, plan_function) == 0 && strcmp(when, plan_when) == 0 &&
      --plan_count == 0)
    act();
  errno = error;
}

__attribute__((constructor)) static void read_plan(void) {
  const char* text = getenv("LEAT_STEP");
  char program[32];
  if (!text) return;
  if (sscanf(text, "%31s %31s %d %7s %d", program, plan_function, &plan_count, plan_when,
             &plan_signal) != 5)
    abort();
  if (strcmp(program, program_invocation_short_name) != 0) plan_count = 0;
  step("start", "after");
}

/* Ours are found before the system's. */
#pragma GCC visibility push(default)

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define AROUND(function, call)              \
  step(function, "before");                 \
  const int result = (int)(call);           \
  if (result >= 0) step(function, "after"); \
  return result

int connect(int fd, const struct sockaddr* address, socklen_t size) {
  AROUND("connect", NEXT(connect)(fd, address, size));
}

int listen(int fd, int most) { AROUND("listen", NEXT(listen)(fd, most)); }

int accept4(int fd, struct sockaddr* address, socklen_t* size, int flags) {
  AROUND("accept", NEXT(accept4)(fd, address, size, flags));
}

ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  AROUND("sendmsg", NEXT(sendmsg)(fd, message, flags));
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  AROUND("recvmsg", NEXT(recvmsg)(fd, message, flags));
}

int flock(int fd, int operation) { AROUND("flock", NEXT(flock)(fd, operation)); }

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const argv[],
                char* const environment[]) {
  step("spawn", "before");
  const int code = NEXT(posix_spawn)(pid, path, actions, attributes, argv, environment);
  if (code == 0) step("spawn", "after");
  return code;
}

ssize_t write(int fd, const void* data, size_t bytes) {
  const int ready = bytes == 6 && memcmp(data, "ready\n", 6) == 0;
  if (ready) step("ready", "before");
  const ssize_t written = NEXT(write)(fd, data, bytes);
  if (ready) step("ready", "after");
  return written;
}

int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  const int locks = command == F_OFD_SETLK || command == F_SETLK;
  if (locks) step("lock", "before");
  const int result = (int)syscall(SYS_fcntl, fd, command, argument);
  if (locks && result >= 0) step("lock", "after");
  return result;
}
