// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/job/measured_loop.hpp"

#include "lib/os/clock.hpp"
#include "tests/bench/job/cpu_time.hpp"
#include "tests/bench/job/page_pool.hpp"
#include "tests/bench/job/work.hpp"

namespace leat::bench {
namespace {

double seconds_since(std::int64_t start) {
  return static_cast<double>(os::now_ns() - start) * 1e-9;
}

class Simulation {
 public:
  Simulation(const Setting& setting, Output& output, PagePool& pool)
      : setting_(setting),
        output_(output),
        pool_(pool),
        base_(setting.values()),
        field_(setting.values()) {
    leat_bench_make_base(base_.data(), count());
    leat_bench_fill(field_.data(), base_.data(), count(), 0, 0, 0);  // touched: warm
  }

  /// Nanoseconds in calls of the output, and how often it slept there.
  std::pair<std::int64_t, long> iteration(int number) {
    pool_.give_back(setting_.plan.bytes * static_cast<std::size_t>(setting_.size));
    leat_bench_work(setting_.plan.work);
    double* into = field_.data();
    std::int64_t ns = 0;
    long slept = 0;
    timed(&ns, &slept, [&] {
      if (double* const own = output_.memory()) into = own;
    });
    leat_bench_fill(into, base_.data(), count(), setting_.rank, setting_.size, number);
    MPI_Barrier(setting_.ranks);  // as a simulation's exchange of ghosts: the slowest rank tells
    timed(&ns, &slept, [&] { output_.write(number, into); });
    return {ns, slept};
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(setting_.values()); }

  template <class Call>
  static void timed(std::int64_t* ns, long* slept, Call call) {
    const long before = voluntary_switches();
    const std::int64_t start = os::now_ns();
    call();
    *ns += os::now_ns() - start;
    *slept += voluntary_switches() - before;
  }

  const Setting& setting_;
  Output& output_;
  PagePool& pool_;
  std::vector<double> base_, field_;
};

double helper_seconds(const Output& output) {
  if (output.helper() != 0) return cpu_seconds_of(output.helper());
  return process_cpu_seconds() - thread_cpu_seconds();
}

void run_measured(const Setting& setting, const Output& output, Simulation& simulation,
                  Measured* measured) {
  const double helper_before = helper_seconds(output);
  const std::int64_t start = os::now_ns();
  for (int i = setting.plan.warm_up; i < setting.plan.all_iterations(); ++i) {
    const std::int64_t iteration_start = os::now_ns();
    const auto [ns, slept] = simulation.iteration(i);
    measured->call_ns.push_back(static_cast<double>(ns));
    measured->switches += static_cast<double>(slept);
    measured->iteration_ns.push_back(seconds_since(iteration_start) * 1e9);
  }
  MPI_Barrier(setting.ranks);
  measured->loop_s = seconds_since(start);
  measured->helper_s = helper_seconds(output) - helper_before;
}

}  // namespace

Measured run_loop(const Setting& setting, const Method& method) {
  Measured measured;
  PagePool pool(setting.rank == 0 ? setting.plan.pool : "");
  pool.give_back(Plan::kPooledAhead * setting.plan.bytes * static_cast<std::size_t>(setting.size));
  MPI_Barrier(setting.ranks);
  const double cpu_before = process_cpu_seconds();
  std::int64_t start = os::now_ns();
  const std::unique_ptr<Output> output = method.make(setting);
  measured.start_s = seconds_since(start);
  Simulation simulation(setting, *output, pool);
  for (int i = 0; i < setting.plan.warm_up; ++i) simulation.iteration(i);
  MPI_Barrier(setting.ranks);
  run_measured(setting, *output, simulation, &measured);
  start = os::now_ns();
  output->finish();
  MPI_Barrier(setting.ranks);
  measured.finish_s = seconds_since(start);
  measured.cpu_s = process_cpu_seconds() - cpu_before;
  return measured;
}

}  // namespace leat::bench
