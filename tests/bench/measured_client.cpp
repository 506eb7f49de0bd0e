// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/measured_client.hpp"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "client-api/api/leat.h"
#include "lib/os/clock.hpp"
#include "lib/os/cores.hpp"
#include "tests/bench/block_ring.hpp"

namespace leat::bench {
namespace {

constexpr int kWarmUp = 20;
// What a simulation computes with takes the caches that are its core's own.
constexpr std::size_t kComputedWith = std::size_t{4} << 20;

std::int64_t processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

long voluntary_switches() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
}

class Client {
 public:
  Client(const Load& load, int client, Samples& samples)
      : load_(load),
        client_(client),
        samples_(samples),
        sources_(load.bytes, load.rotated ? kUncached : 1),
        hot_(load.bytes, 1),
        cold_(load.bytes, kUncached),
        field_(kComputedWith / sizeof(double), 1.0) {}

  // Of the copies and the write either is first as often as the other: the first one brings a warm
  // source into the caches.
  void iteration(int number) {
    counts_ = number >= kWarmUp;
    const bool write_first = number % 2 == 0;
    for (int i = 0; i < load_.writes_per_iteration; ++i) {
      if (!write_first) copy(i == 0);
      write(write_first && i == 0);
      if (write_first) copy(false);
      commit();
    }
    timed(Kind::end_iteration, [this] { check(leat_end_iteration()); });
    compute();
  }

  bool failed() const { return failed_; }

 private:
  template <class Call>
  std::int64_t timed(Kind kind, Call call) {
    const auto clock = load_.processor_time ? processor_ns : os::now_ns;
    const std::int64_t start = clock();
    call();
    const std::int64_t ns = clock() - start;
    if (counts_) samples_.add(client_, kind, ns);
    return ns;
  }

  void compute() {
    constexpr std::size_t kStep = 1024;
    const std::int64_t until = os::now_ns() + load_.compute_us * 1000;
    for (std::size_t at = 0; os::now_ns() < until; at = (at + kStep) % field_.size()) {
      for (std::size_t i = at; i < std::min(at + kStep, field_.size()); ++i)
        field_[i] = field_[i] * 0.5 + 1;
    }
  }

  void check(leat_status status) {
    if (status == LEAT_OK) return;
    if (!failed_) std::fprintf(stderr, "%s\n", leat_last_error());
    failed_ = true;
  }

  void copy(bool is_first) {
    const std::int64_t ns = copy_to(Kind::memcpy_cold, cold_.next());
    if (counts_ && is_first) samples_.add(client_, Kind::first_memcpy, ns);
    copy_to(Kind::memcpy_hot, hot_.next());
  }

  std::int64_t copy_to(Kind kind, char* target) {
    const char* const source = sources_.next();
    return timed(kind, [&] {
      std::memcpy(target, source, load_.bytes);
      asm volatile("" : : "r"(target) : "memory");
    });
  }

  void write(bool is_first) {
    const char* const source = sources_.next();
    const std::int64_t ns = timed(Kind::write, [&] { check(leat_write("written", source)); });
    if (counts_ && is_first) samples_.add(client_, Kind::first_write, ns);
  }

  void commit() {
    void* data = nullptr;
    timed(Kind::alloc, [&] { check(leat_alloc("committed", &data)); });
    if (data) timed(Kind::commit, [this] { check(leat_commit("committed")); });
  }

  const Load& load_;
  int client_;
  Samples& samples_;
  BlockRing sources_, hot_, cold_;
  std::vector<double> field_;
  bool counts_ = false, failed_ = false;
};

}  // namespace

int run_client(const Load& load, int client, Samples& samples, long* slept) {
  if (load.core >= 0) {
    os::CpuSet own;
    own.add(load.core + client);
    os::set_affinity(own);
  }
  const leat_ranks ranks{sizeof ranks, client,       load.clients,
                         client,       load.clients, load.session.c_str()};
  if (leat_init_ranks(load.config.c_str(), &ranks) != LEAT_OK) {
    std::fprintf(stderr, "%s\n", leat_last_error());
    return 1;
  }
  Client measured(load, client, samples);
  for (int i = 0; i < kWarmUp; ++i) measured.iteration(i);
  const long before = voluntary_switches();
  for (int i = 0; i < load.iterations; ++i) measured.iteration(kWarmUp + i);
  __atomic_fetch_add(slept, voluntary_switches() - before, __ATOMIC_RELAXED);
  if (leat_finalize() != LEAT_OK) return 1;
  return measured.failed() ? 1 : 0;
}

}  // namespace leat::bench
