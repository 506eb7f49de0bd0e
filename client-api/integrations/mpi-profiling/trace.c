/* SPDX-License-Identifier: Apache-2.0 */
/* Lines are made and written by a thread, which the simulation does not wait for. A line lies in one page of the file and a write is of
 * one page at most: who is killed leaves whole lines. */
#include "client-api/integrations/mpi-profiling/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client-api/integrations/mpi-profiling/next.h"

enum { kMost = 1 << 16, kPage = 4096, kLine = 80 };
static const int64_t kPeriodNs = 100000000;

struct entry {
  int64_t begun_ns;
  int64_t ns;
};

/* What has come, and what is being written. */
static struct entry entries[2][kMost];
static int filling, count;
static uint64_t left_out;
static int has_ended;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more;
static pthread_t writer;
static int file = -1;
static int64_t origin_ns; /* when the first collective began */

static const char* folder(void) {
  const char* const name = getenv("LEAT_PMPI_TRACE");
  return name && *name ? name : NULL;
}

int trace_is_wanted(void) {
  static int wanted = -1;
  int now = __atomic_load_n(&wanted, __ATOMIC_RELAXED);
  if (now < 0) __atomic_store_n(&wanted, now = folder() != NULL, __ATOMIC_RELAXED);
  return now;
}

int64_t trace_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* A page of the file as it is filled, and how much of that has been written. */
struct page {
  char text[kPage];
  size_t length, written;
};

static void give_up(const char* what) {
  fprintf(stderr, "leat: LEAT_PMPI_TRACE=%s: %s: %s\n", folder(), what, strerror(errno));
  (void)close(file);
  file = -1;
}

static void write_page(struct page* page) {
  while (file >= 0 && page->written < page->length) {
    const ssize_t done = write(file, page->text + page->written, page->length - page->written);
    if (done >= 0)
      page->written += (size_t)done;
    else if (errno != EINTR)
      give_up("cannot write");
  }
  if (page->length == kPage) page->length = page->written = 0;
}

/* What is left of a page, where no line fits, is a comment. */
static void add_line(struct page* page, const char* line) {
  const size_t length = strlen(line), left = kPage - page->length;
  if (length > left || length + 1 == left) {
    memset(page->text + page->length, '#', left - 1);
    page->text[kPage - 1] = '\n';
    page->length = kPage;
    write_page(page);
  }
  memcpy(page->text + page->length, line, length);
  page->length += length;
  if (page->length == kPage) write_page(page);
}

static void write_entries(struct page* page, const struct entry* some, int how_many,
                          uint64_t lost) {
  char line[kLine];
  int i;
  for (i = 0; i < how_many; ++i) {
    (void)snprintf(line, sizeof line, "%" PRId64 " %" PRId64 "\n", some[i].begun_ns - origin_ns,
                   some[i].ns);
    add_line(page, line);
  }
  if (lost > 0) {
    (void)snprintf(line, sizeof line, "# %" PRIu64 " came too fast to be written\n", lost);
    add_line(page, line);
  }
  write_page(page);
}

static void await_more(void) {
  struct timespec until;
  const int64_t at = trace_now_ns() + kPeriodNs;
  until.tv_sec = at / 1000000000;
  until.tv_nsec = at % 1000000000;
  if (!has_ended) (void)pthread_cond_timedwait(&more, &mutex, &until);
}

static void* write_on(void* unused) {
  static struct page page;
  char line[kLine];
  int is_last = 0;
  (void)unused;
  (void)setpriority(PRIO_PROCESS, (id_t)gettid(), 19);
  (void)snprintf(line, sizeof line, "# start_ns duration_ns; 0 is %" PRId64 " of CLOCK_MONOTONIC\n",
                 origin_ns);
  add_line(&page, line);
  while (!is_last) {
    pthread_mutex_lock(&mutex);
    await_more();
    const int taken = filling, how_many = count;
    const uint64_t lost = left_out;
    is_last = has_ended;
    filling = 1 - filling;
    count = 0;
    left_out = 0;
    pthread_mutex_unlock(&mutex);
    write_entries(&page, entries[taken], how_many, lost);
  }
  (void)snprintf(line, sizeof line, "# until %" PRId64 "\n", trace_now_ns() - origin_ns);
  add_line(&page, line);
  write_page(&page);
  if (file >= 0) (void)close(file);
  return NULL;
}

/* Signals are for the simulation's threads. */
static int start_writer(void) {
  pthread_condattr_t clock;
  sigset_t all, before;
  int error;
  (void)pthread_condattr_init(&clock);
  (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&more, &clock);
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  error = pthread_create(&writer, NULL, write_on, NULL);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

/* The rank in MPI_COMM_WORLD, which is an address in Open MPI, and this number in all that have the ABI of MPICH. */
static int rank_of_world(const void* caller) {
  void* const world = next_data("ompi_mpi_comm_world", caller);
  void* const ask = next_symbol("MPI_Comm_rank", caller);
  int rank = -1;
  if (ask) ((int (*)(uintptr_t, int*))ask)(world ? (uintptr_t)world : 0x44000000, &rank);
  return rank;
}

static int (*is_main_thread)(int*);

static void start(int64_t first_ns, const void* caller) {
  char path[PATH_MAX];
  origin_ns = first_ns;
  (void)mkdir(folder(), 0777);
  (void)snprintf(path, sizeof path, "%s/collectives-%d.txt", folder(), rank_of_world(caller));
  (void)unlink(path); /* another job may write it still: to a file of its own */
  file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) {
    give_up(path);
  } else if ((errno = start_writer()) != 0) {
    give_up("no thread");
  } else {
    is_main_thread = (int (*)(int*))next_symbol("MPI_Is_thread_main", caller);
  }
}

static void add(int64_t begun_ns, int64_t ns) {
  pthread_mutex_lock(&mutex);
  if (count < kMost) {
    entries[filling][count].begun_ns = begun_ns;
    entries[filling][count++].ns = ns;
  } else {
    ++left_out;
  }
  pthread_mutex_unlock(&mutex);
}

void trace_add(int64_t begun_ns, const void* caller) {
  static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
  static int has_started;
  const int64_t ns = trace_now_ns() - begun_ns;
  int is_main = 0;
  pthread_mutex_lock(&starting);
  if (!has_started) start(begun_ns, caller);
  has_started = 1;
  pthread_mutex_unlock(&starting);
  if (is_main_thread) (void)is_main_thread(&is_main);
  if (is_main) add(begun_ns, ns);
}

void trace_end(void) {
  if (!is_main_thread) return;
  pthread_mutex_lock(&mutex);
  has_ended = 1;
  (void)pthread_cond_signal(&more);
  pthread_mutex_unlock(&mutex);
  (void)pthread_join(writer, NULL);
  is_main_thread = NULL;
}
