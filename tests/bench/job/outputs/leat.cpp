// SPDX-License-Identifier: Apache-2.0
// Leat: leat_write copies, and with leat_alloc the simulation computes in the segment.
#include <unistd.h>

#include "client-api/api/leat_mpi.h"
#include "lib/os/child_process.hpp"
#include "tests/bench/job/cpu_time.hpp"
#include "tests/bench/job/outputs/outputs.hpp"

namespace leat::bench {
namespace {

void check(leat_status status) {
  if (status != LEAT_OK) give_up(leat_last_error());
}

class LeatOutput : public Output {
 public:
  explicit LeatOutput(const Setting& setting) {
    check(leat_init_mpi(setting.plan.config.c_str(), setting.ranks));
    check(leat_set_int("n", static_cast<std::int64_t>(setting.values())));
    check(leat_set_int("ranks", setting.size));
    const std::int64_t position[2] = {setting.rank, 0};
    check(leat_set_position("field", 0, position));
    for (const pid_t pid : os::processes_called("leatd"))
      if (parent_of(pid) == getpid()) server_ = pid;
  }

  void write(int, const double* data) override {
    check(leat_write("field", data));
    check(leat_end_iteration());
  }
  void finish() override { check(leat_finalize()); }
  pid_t helper() const override { return server_; }

 private:
  pid_t server_ = 0;  // of the rank that started it
};

class LeatCommit : public LeatOutput {
 public:
  using LeatOutput::LeatOutput;

  double* memory() override {
    void* data = nullptr;
    check(leat_alloc("field", &data));
    return static_cast<double*>(data);
  }
  void write(int, const double*) override {
    check(leat_commit("field"));
    check(leat_end_iteration());
  }
};

}  // namespace

std::unique_ptr<Output> make_leat_write(const Setting& setting) {
  return std::make_unique<LeatOutput>(setting);
}

std::unique_ptr<Output> make_leat_commit(const Setting& setting) {
  return std::make_unique<LeatCommit>(setting);
}

}  // namespace leat::bench
