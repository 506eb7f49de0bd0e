// SPDX-License-Identifier: Apache-2.0
// A simulation beside whose run scripts work: it says when each iteration ended, and what one leat_write
// of it took, with a memcpy of the same bytes beside it. scripts_bench.py starts several, lets them run in
// turns, and reads what they say: each stops itself (SIGSTOP) when it is warm, and ends after a SIGTERM.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "client-api/api/leat.h"
#include "lib/os/clock.hpp"
#include "lib/os/cores.hpp"

namespace leat::bench {
namespace {

constexpr std::int64_t kReadyLimitNs = 60'000'000'000;

struct Row {
  std::int64_t iteration, ended_ns, write_ns, memcpy_ns;
};

struct Plan {
  const char* config;
  const char* result;
  const char* ready;  // a file that the script makes when it has been loaded; "": no script
  int variables;
  std::size_t bytes;
  int warm_up;
  std::int64_t compute_ns;
};

volatile sig_atomic_t told_to_end = 0;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, leat_last_error());
  std::exit(1);
}

template <class Call>
std::int64_t timed(Call call) {
  const std::int64_t start = os::now_ns();
  call();
  return os::now_ns() - start;
}

void compute(std::int64_t ns) {
  const std::int64_t until = os::now_ns() + ns;
  while (os::now_ns() < until) {
  }
}

void wait_for_script(const std::string& ready) {
  const std::int64_t until = os::now_ns() + kReadyLimitNs;
  struct stat found {};
  while (!ready.empty() && stat(ready.c_str(), &found) != 0) {
    if (os::now_ns() > until) give_up("the script was not loaded");
    usleep(10'000);
  }
}

class Client {
 public:
  explicit Client(const Plan& plan) : plan_(plan), source_(plan.bytes, 1), target_(plan.bytes, 2) {}

  Row iteration(std::int64_t number) {
    Row row{number, 0, 0, 0};
    // Either is first as often as the other: the first one brings the source into the caches.
    if (number % 2 == 0) row.memcpy_ns = copy();
    row.write_ns = timed([this] { write(0); });
    if (number % 2 == 1) row.memcpy_ns = copy();
    for (int i = 1; i < plan_.variables; ++i) write(i);
    if (leat_end_iteration() != LEAT_OK) give_up("leat_end_iteration");
    row.ended_ns = os::now_ns();
    compute(plan_.compute_ns);
    return row;
  }

 private:
  void write(int variable) {
    const std::string name = "v" + std::to_string(variable);
    if (leat_write(name.c_str(), source_.data()) != LEAT_OK) give_up("leat_write");
  }

  std::int64_t copy() {
    return timed([this] {
      std::memcpy(target_.data(), source_.data(), plan_.bytes);
      asm volatile("" : : "r"(target_.data()) : "memory");
    });
  }

  const Plan& plan_;
  std::vector<char> source_, target_;
};

int run(const Plan& plan) {
  if (os::allowed_cpus().count() > 1) {
    os::CpuSet own;
    own.add(0);
    os::set_affinity(own);
  }
  if (leat_init(plan.config) != LEAT_OK) give_up("leat_init");
  wait_for_script(plan.ready);
  Client client(plan);
  std::vector<Row> rows;
  signal(SIGTERM, [](int) { told_to_end = 1; });
  for (int i = 0; !told_to_end; ++i) {
    if (i == plan.warm_up) raise(SIGSTOP);
    rows.push_back(client.iteration(i));
  }
  if (leat_finalize() != LEAT_OK) give_up("leat_finalize");
  std::ofstream(plan.result, std::ios::binary)
      .write(reinterpret_cast<const char*>(rows.data()),
             static_cast<std::streamsize>(rows.size() * sizeof(Row)));
  return 0;
}

}  // namespace
}  // namespace leat::bench

// leat_scripts_client CONFIG RESULT READY VARIABLES BYTES WARM_UP COMPUTE_US
int main(int count, char** arguments) {
  if (count != 8) return 2;
  const auto number = [&](int i) { return std::atoll(arguments[i]); };
  return leat::bench::run({arguments[1], arguments[2], arguments[3], static_cast<int>(number(4)),
                           static_cast<std::size_t>(number(5)), static_cast<int>(number(6)),
                           number(7) * 1000});
}
