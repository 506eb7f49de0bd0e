// SPDX-License-Identifier: Apache-2.0
#include "server/command/placement_report.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "lib/model/reader.hpp"
#include "server/placement/policy.hpp"

namespace leat::command {
namespace {

using platform::CpuSet;

int lowest_of(const CpuSet& cpus) {
  int cpu = 0;
  while (!cpus.has(cpu)) ++cpu;
  return cpu;
}

// In the order in which launchers fill them: that of hwloc, by memory node and there by the lowest
// processor. Where firmware numbers processors over the sockets in turns, that is not by number.
std::vector<CpuSet> cores_in_order(const server::DescribedMachine& described) {
  std::map<std::pair<int, int>, CpuSet> sorted;
  for (const auto& [core, cpus] : described.machine.cores(described.allowed))
    sorted[{core.first, lowest_of(cpus)}] = cpus;
  std::vector<CpuSet> cores;
  for (const auto& [place, cpus] : sorted) cores.push_back(cpus);
  return cores;
}

std::vector<CpuSet> nodes_in_order(const server::DescribedMachine& described) {
  std::map<int, CpuSet> nodes;
  for (const platform::Cpu& cpu : described.machine.cpus) {
    if (described.allowed.has(cpu.id)) nodes[cpu.memory_node].add(cpu.id);
  }
  std::vector<CpuSet> all;
  for (const auto& [node, cpus] : nodes) all.push_back(cpus);
  return all;
}

Result<std::vector<CpuSet>> cpus_of_ranks(const PlacementReport& report) {
  const PlacementOptions& options = report.options;
  std::vector<CpuSet> ranks;
  for (const std::string& text : options.rank_cpus) {
    const std::optional<CpuSet> cpus = platform::parse_cpus(text);
    if (!cpus || cpus->empty()) {
      return Error{Status::ERROR_ARGUMENT,
                   "--rank-cpus " + text + ": expected a list of processors, like \"0-3,8\""};
    }
    ranks.push_back(*cpus);
  }
  if (!ranks.empty()) return ranks;
  const std::int64_t room = room_for_ranks(report.described, report.architecture);
  const std::int64_t count = options.ranks.value_or(std::max<std::int64_t>(1, room));
  return launched(report.described, static_cast<std::size_t>(count), options.bind);
}

std::vector<int> names_of(const PlacementReport& report) {
  std::vector<int> names(report.ranks.size());
  std::iota(names.begin(), names.end(), 0);
  return names;
}

}  // namespace

Result<server::DescribedMachine> machine_of(const PlacementOptions& options) {
  return options.machine.empty() ? server::machine_here() : server::read_machine(options.machine);
}

Result<model::Model> model_of(const std::string& xml) {
  model::ReadResult read = model::read_file(xml);
  if (read.model) return std::move(*read.model);
  std::string text = model::format(read.diagnostics);
  if (!text.empty()) text.pop_back();  // the end of its last line
  return Error{Status::ERROR_CONFIG, text};
}

std::int64_t room_for_ranks(const server::DescribedMachine& described,
                            const model::Architecture& architecture) {
  const auto cores = static_cast<std::int64_t>(cores_in_order(described).size());
  return std::max<std::int64_t>(0, cores - architecture.dedicated_cores);
}

std::vector<CpuSet> launched(const server::DescribedMachine& described, std::size_t ranks,
                             const std::string& bind) {
  const std::vector<CpuSet> places = bind == "none"   ? std::vector{described.allowed}
                                     : bind == "node" ? nodes_in_order(described)
                                                      : cores_in_order(described);
  std::vector<CpuSet> bound;
  for (std::size_t i = 0; i < ranks; ++i) bound.push_back(places[i % places.size()]);
  return bound;
}

Result<PlacementReport> report_placement(const PlacementOptions& options) {
  if (options.xml.empty()) return report_placement(options, model::Architecture{});
  const Result<model::Model> model = model_of(options.xml);
  if (!model) return model.error();
  return report_placement(options, model->architecture);
}

Result<PlacementReport> report_placement(const PlacementOptions& options,
                                         const model::Architecture& architecture) {
  Result<server::DescribedMachine> described = machine_of(options);
  if (!described) return described.error();
  PlacementReport report{options, std::move(*described), architecture, {}, {}, {}, {}};
  Result<std::vector<CpuSet>> ranks = cpus_of_ranks(report);
  if (!ranks) return ranks.error();
  report.ranks = std::move(*ranks);
  const auto& [machine, allowed] = report.described;
  const int wanted = static_cast<int>(architecture.dedicated_cores);
  report.placement = platform::place_server(machine, allowed, report.ranks, wanted);
  report.memory = platform::place_memory(machine, allowed, report.placement, report.ranks,
                                         server::policy_of(architecture.numa));
  report.warnings =
      platform::warnings(machine, report.placement, report.ranks, names_of(report), wanted);
  return report;
}

std::string memory_text(const PlacementReport& report) {
  return platform::describe(report.memory, names_of(report));
}

}  // namespace leat::command
