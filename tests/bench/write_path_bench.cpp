// SPDX-License-Identifier: Apache-2.0
// What a call costs a simulation: leat_write beside memcpy of the same bytes, and the calls that
// copy nothing. One run, call by call in turn, so that ratios hold on noisy machines; its figures
// as JSON. write_path.py makes the runs and the table.
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/path_run.hpp"

namespace leat::bench {
namespace {

nlohmann::json as_json(const PathTimes& times) {
  nlohmann::json all{{"sleeps_per_iteration", times.sleeps_per_iteration}};
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const Percentiles& of = times.of[kind];
    all[kKindNames[kind]] = {{"p50", of.p50},
                             {"p99", of.p99},
                             {"p999", of.p999},
                             {"max", of.max},
                             {"samples", of.samples}};
  }
  return all;
}

int run(const Load& load) {
  const std::optional<PathTimes> times = measure_path(load);
  if (times) std::puts(as_json(*times).dump().c_str());
  return times ? 0 : 1;
}

}  // namespace
}  // namespace leat::bench

int main(int count, char** arguments) {
  if (count != 7) {
    std::fputs(
        "usage: leat_write_path_bench CLIENTS BYTES WRITES ITERATIONS COMPUTE_US warm|rotated\n",
        stderr);
    return 2;
  }
  const auto number = [&](int i) { return std::atoll(arguments[i]); };
  leat::bench::Load load;
  load.clients = static_cast<int>(number(1));
  load.bytes = static_cast<std::size_t>(number(2));
  load.writes_per_iteration = static_cast<int>(number(3));
  load.iterations = static_cast<int>(number(4));
  load.compute_us = number(5);
  load.rotated = std::string(arguments[6]) == "rotated";
  return leat::bench::run(load);
}
