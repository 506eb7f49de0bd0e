// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/job/plan.hpp"

#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

namespace leat::bench {
namespace {

std::vector<int> numbers(const std::string& text) {
  std::vector<int> all;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) all.push_back(std::stoi(one));
  return all;
}

os::CpuSet cpus(const std::string& text) {
  os::CpuSet set;
  for (const int cpu : numbers(text)) set.add(cpu);
  return set;
}

}  // namespace

Plan plan_from(int count, char** arguments) {
  Plan plan;
  using Text = const std::string&;
  const std::map<std::string, std::function<void(Text)>> known = {
      {"method", [&](Text v) { plan.method = v; }},
      {"warm_up", [&](Text v) { plan.warm_up = std::stoi(v); }},
      {"iterations", [&](Text v) { plan.iterations = std::stoi(v); }},
      {"bytes", [&](Text v) { plan.bytes = std::stoull(v); }},
      {"work", [&](Text v) { plan.work = std::stol(v); }},
      {"durable", [&](Text v) { plan.durable = v == "1"; }},
      {"deflate", [&](Text v) { plan.deflate = std::stoi(v); }},
      {"folder", [&](Text v) { plan.folder = v; }},
      {"config", [&](Text v) { plan.config = v; }},
      {"result", [&](Text v) { plan.result = v; }},
      {"pool", [&](Text v) { plan.pool = v; }},
      {"cores", [&](Text v) { plan.cores = numbers(v); }},
      {"helpers", [&](Text v) { plan.helpers = cpus(v); }},
  };
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t end = argument.find('=');
    const auto found = known.find(argument.substr(0, end));
    if (end == std::string::npos || found == known.end())
      throw std::invalid_argument("what is \"" + argument + "\"?");
    found->second(argument.substr(end + 1));
  }
  if (plan.bytes == 0 || plan.bytes % sizeof(double) != 0)
    throw std::invalid_argument("bytes must be a multiple of 8, and more than 0");
  if (plan.cores.empty() || plan.helpers.empty())
    throw std::invalid_argument("cores and helpers must name cores");
  return plan;
}

}  // namespace leat::bench
