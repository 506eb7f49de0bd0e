// SPDX-License-Identifier: Apache-2.0
// A simulation with one way of output, in numbers:
//   mpirun -n RANKS leat_bench_job method=leat-write iterations=30 bytes=16777216 work=50000
//   cores=0
//     helpers=1 folder=DIR config=FILE result=JSON
// A method that has a dedicated rank takes one more process. "leat_bench_job methods" and
// "leat_bench_job calibrate" say what there is, and the units of work in a second.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/bench/job/measured_loop.hpp"
#include "tests/bench/job/work.hpp"

namespace leat::bench {

void give_up(const std::string& what) {
  std::fprintf(stderr, "leat_bench_job: %s (%s)\n", what.c_str(), std::strerror(errno));
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

namespace {

std::vector<double> gathered(const Setting& setting, const std::vector<double>& own) {
  std::vector<double> all(own.size() * static_cast<std::size_t>(setting.size));
  MPI_Gather(own.data(), static_cast<int>(own.size()), MPI_DOUBLE, all.data(),
             static_cast<int>(own.size()), MPI_DOUBLE, 0, setting.ranks);
  return all;
}

double over_ranks(const Setting& setting, double own, MPI_Op how) {
  double all = 0;
  MPI_Reduce(&own, &all, 1, MPI_DOUBLE, how, 0, setting.ranks);
  return all;
}

void report(const Setting& setting, const Measured& own) {
  const auto most = [&](double value) { return over_ranks(setting, value, MPI_MAX); };
  const auto sum = [&](double value) { return over_ranks(setting, value, MPI_SUM); };
  const nlohmann::json result{{"start_s", most(own.start_s)},
                              {"loop_s", most(own.loop_s)},
                              {"finish_s", most(own.finish_s)},
                              {"cpu_s", sum(own.cpu_s)},
                              {"helper_s", sum(own.helper_s)},
                              {"switches", sum(own.switches)},
                              {"call_ns", gathered(setting, own.call_ns)},
                              {"iteration_ns", own.iteration_ns}};
  if (setting.rank == 0) std::ofstream(setting.plan.result) << result.dump() << "\n";
}

void bind_to(const Plan& plan, int rank, bool serves) {
  os::CpuSet own;
  own.add(plan.cores[static_cast<std::size_t>(rank) % plan.cores.size()]);
  os::set_affinity(serves ? plan.helpers : own);
}

void run(const Plan& plan) {
  const Method* const method = find_method(plan.method);
  if (!method) give_up("this program has: " + method_names());
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int ranks = method->serve ? size - 1 : size;
  if (ranks < 1) give_up(plan.method + " needs a process more");
  const bool serves = rank == ranks;
  bind_to(plan, rank, serves);
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, serves ? 1 : 0, rank, &own);
  const Setting setting{plan, MPI_COMM_WORLD, own, rank, ranks};
  if (serves)
    method->serve(setting);
  else
    report(setting, run_loop(setting, *method));
  MPI_Comm_free(&own);
}

}  // namespace
}  // namespace leat::bench

int main(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "methods") == 0)
    return std::puts(leat::bench::method_names().c_str()) < 0;
  if (count == 2 && std::strcmp(arguments[1], "calibrate") == 0)
    return std::printf("%.0f\n", leat_bench_units_per_second()) < 0;
  leat::bench::Plan plan;
  try {
    plan = leat::bench::plan_from(count, arguments);
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "leat_bench_job: %s\n", error.what()), 2;
  }
  MPI_Init(&count, &arguments);
  leat::bench::run(plan);
  MPI_Finalize();
  return 0;
}
