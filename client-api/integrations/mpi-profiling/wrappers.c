/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libleat_pmpi: an idle phase around each call of MPI that may wait, in C and in each form that Fortran has. One library for all
 * MPIs: what is passed on are words. On Linux an int, a handle or a pointer takes one of a register or of the stack, and comes
 * out as it went in; all arguments of these calls are such, and in Fortran all are pointers.
 */
#include <leat.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client-api/integrations/mpi-profiling/next.h"
#include "client-api/integrations/mpi-profiling/trace.h"

typedef uintptr_t word;

/* Of OpenMP, in programs that have it. */
extern int omp_in_parallel(void) __attribute__((weak));

enum kind { WAIT, COLLECTIVE, MEETING };
enum language { C, FORTRAN };

struct phase {
  void* place; /* in the code */
  int is_idle;
  int64_t traced_from_ns; /* 0: it is not */
};

/* MPICH's Fortran calls its C, and MPI-IO calls collectives: the outermost call counts. */
static _Thread_local int depth;
static _Thread_local int64_t yields_since_ns; /* in this call; 0: not yet */

/* In a parallel region the other threads compute. */
static int is_alone(void) { return !omp_in_parallel || !omp_in_parallel(); }

/* A name for each place in the code, of six bits a letter. */
static void begin_idle(uintptr_t place) {
  char name[2 * sizeof place];
  char* at = name + sizeof name - 1;
  *at = '\0';
  for (; place != 0; place >>= 6) *--at = (char)('0' + (place & 63));
  (void)leat_idle_begin(at);
}

static struct phase begin(struct next* call, enum kind kind, void* place) {
  struct phase phase = {place, 0, 0};
  if (!next_is_known(call)) next_find(call, place);
  if (depth++ > 0) return phase;
  yields_since_ns = 0;
  if (kind != WAIT && trace_is_wanted()) phase.traced_from_ns = trace_now_ns();
  phase.is_idle = is_alone();
  if (phase.is_idle) begin_idle((uintptr_t)place);
  return phase;
}

/* Also where an error handler of MPI throws an exception. */
static void end(const struct phase* phase) {
  --depth;
  if (phase->is_idle) (void)leat_idle_end();
  if (phase->traced_from_ns) trace_add(phase->traced_from_ns, phase->place);
}

/* In Fortran it is passed where it lies, in mpi_f08 as the one member of a type. 0: not known. */
static int ranks_of(word comm, enum language language, const void* caller) {
  static _Atomic(void*) known[2];
  static const char* const names[2] = {"MPI_Comm_size", "mpi_comm_size_"};
  int size = 0, error = 0;
  void* function = known[language];
  if (!function) known[language] = function = next_symbol(names[language], caller);
  if (!function) return 0;
  if (language == C) ((word(*)(word, int*))function)(comm, &size);
  if (language == FORTRAN) ((word(*)(word, int*, int*))function)(comm, &size, &error);
  return size;
}

/* A collective whose ranks meet in it. */
struct meeting {
  enum language language;
  word comm;
  void* place;
};

static void end_meeting(const struct meeting* meeting) {
  int ranks = 0;
  if (depth == 0) ranks = ranks_of(meeting->comm, meeting->language, meeting->place);
  if (ranks > 0) (void)leat_after_collective(ranks);
}

#define MEET_IN_WAIT(language, comm)
#define MEET_IN_COLLECTIVE(language, comm)
#define MEET_IN_MEETING(language, comm)         \
  __attribute__((cleanup(end_meeting), unused)) \
  const struct meeting meeting = {language, comm, __builtin_return_address(0)};

/* W3(T, a): three of T, named a1 to a3. */
#define W1(T) T(1)
#define W2(T) W1(T), T(2)
#define W3(T) W2(T), T(3)
#define W4(T) W3(T), T(4)
#define W5(T) W4(T), T(5)
#define W6(T) W5(T), T(6)
#define W7(T) W6(T), T(7)
#define W8(T) W7(T), T(8)
#define W9(T) W8(T), T(9)
#define W10(T) W9(T), T(10)
#define W11(T) W10(T), T(11)
#define W12(T) W11(T), T(12)
#define W13(T) W12(T), T(13)
#define PLUS1(n) PLUS1_OF(n)
#define PLUS1_OF(n) AFTER_##n
#define AFTER_1 2
#define AFTER_2 3
#define AFTER_3 4
#define AFTER_4 5
#define AFTER_5 6
#define AFTER_6 7
#define AFTER_7 8
#define AFTER_8 9
#define AFTER_9 10
#define AFTER_10 11
#define AFTER_12 13
#define TYPE(n) word
#define DECLARED(n) word a##n
#define NAMED(n) a##n
#define WORDS(n, T) WORDS_OF(n, T)
#define WORDS_OF(n, T) W##n(T)

/* `comm`: the argument that is the communicator of a MEETING. */
#define WRAP(function, words, kind, language, comm)                             \
  LEAT_API word function(WORDS(words, DECLARED));                               \
  LEAT_API word function(WORDS(words, DECLARED)) {                              \
    static struct next call = {#function, NULL};                                \
    MEET_IN_##kind(language, a##comm) __attribute__((cleanup(end), unused))     \
    const struct phase phase = begin(&call, kind, __builtin_return_address(0)); \
    return ((word(*)(WORDS(words, TYPE)))next_of(&call))(WORDS(words, NAMED));  \
  }

/* gfortran and most other compilers call mpi_x_, those with -fsecond-underscore mpi_x__; `use mpi_f08` is mpi_x_f08_ in Open MPI,
 * and in MPICH where there is no buffer. */
#define CALL(c, fortran, words, kind)                         \
  WRAP(MPI_##c, words, kind, C, words)                        \
  WRAP(mpi_##fortran##_, PLUS1(words), kind, FORTRAN, words)  \
  WRAP(mpi_##fortran##__, PLUS1(words), kind, FORTRAN, words) \
  WRAP(mpi_##fortran##_f08_, PLUS1(words), kind, FORTRAN, words)
/* Those that MPICH's `use mpi_f08` calls with a buffer, and with counts of MPI_COUNT_KIND. */
#define COUNTED(c, fortran, words, kind)                           \
  CALL(c, fortran, words, kind)                                    \
  WRAP(MPI_##c##_c, words, kind, C, words)                         \
  WRAP(mpi_##fortran##_f08ts_, PLUS1(words), kind, FORTRAN, words) \
  WRAP(mpi_##fortran##_f08ts_large_, PLUS1(words), kind, FORTRAN, words)
#include "client-api/integrations/mpi-profiling/calls.def"

#define END(function, declared, type, named)                                  \
  LEAT_API word function(declared);                                           \
  LEAT_API word function(declared) {                                          \
    static struct next call = {#function, NULL};                              \
    if (!next_is_known(&call)) next_find(&call, __builtin_return_address(0)); \
    trace_end();                                                              \
    return ((word(*)(type))next_of(&call))(named);                            \
  }
END(MPI_Finalize, void, void, )
END(mpi_finalize_, word a, word, a)
END(mpi_finalize__, word a, word, a)
END(mpi_finalize_f08_, word a, word, a)

/* An MPI that gives way while it waits (mpi_yield_when_idle of Open MPI) would be back after a slice of the analysis, some
 * milliseconds: one that sleeps is back as soon as it wakes. Only where a wait is as long as phases that are worth it. */
LEAT_API int sched_yield(void);
LEAT_API int sched_yield(void) {
  static const int64_t long_ns = 1000000;
  static const struct timespec shortly = {0, 50000};
  if (depth == 0) return (int)syscall(SYS_sched_yield);
  if (yields_since_ns == 0) yields_since_ns = trace_now_ns();
  if (trace_now_ns() - yields_since_ns < long_ns) return (int)syscall(SYS_sched_yield);
  return nanosleep(&shortly, NULL), 0;
}
