// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/measured_client.hpp"

#include <time.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "client-api/leat.h"
#include "lib/platform/affinity.hpp"
#include "lib/platform/clock.hpp"

namespace leat::bench {
namespace {

// A simulation computes between two iterations; the server has time to take events meanwhile.
constexpr std::int64_t kComputeNs = 20'000;
constexpr int kWarmUp = 20;

std::int64_t processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void compute() {
  const std::int64_t until = platform::now_ns() + kComputeNs;
  while (platform::now_ns() < until) {
  }
}

class Client {
 public:
  Client(const Load& load, int client, Samples& samples)
      : load_(load),
        client_(client),
        samples_(samples),
        source_(load.bytes, 1),
        target_(load.bytes, 2) {}

  void iteration(bool count) {
    for (int i = 0; i < load_.writes_per_iteration; ++i) {
      // Either is first as often as the other: the first one brings the source into the caches.
      if (i % 2 == 0) copy(count);
      write(count);
      if (i % 2 == 1) copy(count);
      commit(count);
    }
    const std::int64_t ns = timed([this] { check(leat_end_iteration()); });
    if (count) samples_.add(client_, Kind::end_iteration, ns);
    compute();
  }

  bool failed() const { return failed_; }

 private:
  template <class Call>
  std::int64_t timed(Call call) const {
    const auto clock = load_.processor_time ? processor_ns : platform::now_ns;
    const std::int64_t start = clock();
    call();
    return clock() - start;
  }

  void check(leat_status status) {
    if (status == LEAT_OK) return;
    if (!failed_) std::fprintf(stderr, "%s\n", leat_last_error());
    failed_ = true;
  }

  void copy(bool count) {
    const std::int64_t ns = timed([this] {
      std::memcpy(target_.data(), source_.data(), load_.bytes);
      asm volatile("" : : "r"(target_.data()) : "memory");
    });
    if (count) samples_.add(client_, Kind::memcpy_warm, ns);
  }

  void write(bool count) {
    const std::int64_t ns = timed([this] { check(leat_write("written", source_.data())); });
    if (count) samples_.add(client_, Kind::write, ns);
  }

  void commit(bool count) {
    void* data = nullptr;
    const std::int64_t alloc = timed([&] { check(leat_alloc("committed", &data)); });
    if (!data) return;
    const std::int64_t commit = timed([this] { check(leat_commit("committed")); });
    if (!count) return;
    samples_.add(client_, Kind::alloc, alloc);
    samples_.add(client_, Kind::commit, commit);
  }

  const Load& load_;
  int client_;
  Samples& samples_;
  std::vector<char> source_, target_;
  bool failed_ = false;
};

}  // namespace

int run_client(const Load& load, int client, Samples& samples) {
  if (load.core >= 0) {
    platform::CpuSet own;
    own.add(load.core + client);
    platform::set_affinity(own);
  }
  const leat_ranks ranks{sizeof ranks, client,       load.clients,
                         client,       load.clients, load.session.c_str()};
  if (leat_init_ranks(load.config.c_str(), &ranks) != LEAT_OK) return 1;
  Client measured(load, client, samples);
  for (int i = 0; i < kWarmUp + load.iterations; ++i) measured.iteration(i >= kWarmUp);
  if (leat_finalize() != LEAT_OK) return 1;
  return measured.failed() ? 1 : 0;
}

}  // namespace leat::bench
