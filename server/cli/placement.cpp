// SPDX-License-Identifier: Apache-2.0
#include "server/cli/placement.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>

#include "lib/base/text.hpp"
#include "lib/control/machine_file.hpp"
#include "lib/model/reader.hpp"
#include "lib/node/placement.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {
namespace {

using os::CpuSet;

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
  for (const os::Cpu& cpu : described.machine.cpus) {
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
    const std::optional<CpuSet> cpus = os::parse_cpus(text);
    if (!cpus || cpus->empty()) {
      return Error{Status::ERROR_ARGUMENT,
                   "--rank-cpus " + text + ": expected a list of processors, like \"0-3,8\""};
    }
    ranks.push_back(*cpus);
  }
  if (!ranks.empty()) return ranks;
  const std::int64_t room = room_for_ranks(report.described, report.architecture);
  const std::int64_t count = options.ranks.value_or(std::max<std::int64_t>(1, room));
  const bool in_ranks = report.architecture.place == model::Place::ranks;
  if (report.architecture.servers > 1 && options.bind == "core" && !in_ranks)
    return launched_for_servers(report.described, static_cast<int>(count), report.architecture);
  return launched(report.described, static_cast<std::size_t>(count), options.bind);
}

std::vector<int> names_of(const PlacementReport& report) {
  std::vector<int> names(report.ranks.size());
  std::iota(names.begin(), names.end(), 0);
  return names;
}

template <class Value>
std::vector<Value> part_of(const std::vector<Value>& whole, const node::Share& share) {
  return {whole.begin() + share.first, whole.begin() + share.first + share.count};
}

// What one server says of itself and of its ranks.
void place(int server, const std::vector<int>& names, PlacementReport* report) {
  const auto& [machine, allowed] = report->described;
  const model::Architecture& architecture = report->architecture;
  const int servers = static_cast<int>(architecture.servers);
  const node::Share share = node::share_of(static_cast<int>(names.size()), server, servers);
  const std::vector<CpuSet> ranks = part_of(report->ranks, share);
  const node::Placement& own = report->servers[static_cast<std::size_t>(server)];
  const node::MemoryPlacement memory =
      node::place_memory(machine, allowed, own, ranks, server::policy_of(architecture.numa));
  report->memory.interleaved = memory.interleaved;
  report->memory.of_rank.insert(report->memory.of_rank.end(), memory.of_rank.begin(),
                                memory.of_rank.end());
  const int wanted =
      node::share_of(static_cast<int>(architecture.dedicated_cores), server, servers).count;
  for (std::string& line : node::warnings(machine, own, ranks, part_of(names, share), wanted)) {
    report->warnings.push_back((servers == 1 ? "" : "server " + std::to_string(server) + ": ") +
                               line);
  }
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

// Each server with its ranks has a piece of the machine, a little more of it where it needs that.
std::vector<CpuSet> launched_for_servers(const server::DescribedMachine& described, int ranks,
                                         const model::Architecture& architecture) {
  const std::vector<CpuSet> places = cores_in_order(described);
  const auto all = static_cast<int>(places.size());
  const auto servers = static_cast<int>(architecture.servers);
  const auto dedicated = static_cast<int>(architecture.dedicated_cores);
  const bool in_ranks = architecture.place == model::Place::ranks;
  std::vector<CpuSet> bound;
  int end = 0, left = ranks + dedicated;
  for (int server = 0; server < servers; ++server) {
    const int own = node::share_of(ranks, server, servers).count;
    const int given = node::share_of(dedicated, server, servers).count;
    const int wanted = std::max(end, node::share_of(all, server, servers).first);
    const int begin = std::max(end, std::min(wanted, all - left));
    for (int i = 0; i < own + (in_ranks ? given : 0); ++i)
      bound.push_back(places[static_cast<std::size_t>(begin + i) % places.size()]);
    end = begin + own + given;
    left -= own + given;
  }
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
  if (architecture.servers > static_cast<std::int64_t>(report.ranks.size())) {
    return Error{Status::ERROR_CONFIG,
                 "<dedicated servers=\"" + std::to_string(architecture.servers) + "\"> with " +
                     counted(report.ranks.size(), "rank") +
                     " on the node: each server has ranks to serve; start more there, or have "
                     "fewer servers"};
  }
  report.servers = node::place_servers(machine, allowed, report.ranks,
                                       static_cast<int>(architecture.dedicated_cores),
                                       static_cast<int>(architecture.servers));
  const std::vector<int> names = names_of(report);
  for (int server = 0; server < architecture.servers; ++server) place(server, names, &report);
  return report;
}

std::string memory_text(const PlacementReport& report) {
  return node::describe(report.memory, names_of(report));
}

namespace {

int fail(const Error& error) {
  return refuse("placement", error.message, error.status == Status::ERROR_ARGUMENT ? kUsage : kBad);
}

int describe(const PlacementOptions& options) {
  const Result<server::DescribedMachine> here = machine_of(options);
  if (!here) return fail(here.error());
  print(server::machine_json(*here));
  return kGood;
}

int run_placement(const PlacementOptions& options) {
  if (options.describe) return describe(options);
  const Result<PlacementReport> report = report_placement(options);
  if (!report) return fail(report.error());
  print(options.json ? text_of(json_of(*report)) : screen(*report, look_of(stdout)));
  for (const std::string& line : report->warnings)
    std::fprintf(stderr, "%sleat placement: warning: %s\n", options.json ? "" : "\n", line.c_str());
  return kGood;
}

}  // namespace

void add_placement(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<PlacementOptions>();
  CLI::App* verb = app.add_subcommand(
      "placement",
      "Shows on which cores ranks and server are, and on which memory nodes data lie.");
  verb->add_option("--machine", options->machine,
                   "A machine described as JSON (default: this one)");
  verb->add_option("--xml", options->xml,
                   "The XML of the simulation, for cores of <dedicated> and numa of <buffer>");
  CLI::Option* ranks =
      verb->add_option("--ranks", options->ranks,
                       "Ranks on the node (default: one for each core that is not the server's)")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  CLI::Option* bind =
      verb->add_option("--bind", options->bind,
                       "What the launcher binds a rank to: core (default), node or none")
          ->check(CLI::IsMember({"core", "node", "none"}));
  verb->add_option("--rank-cpus", options->rank_cpus,
                   "Processors of one rank, like 0-3; repeated for each rank of the node")
      ->allow_extra_args(false)
      ->excludes(ranks)
      ->excludes(bind);
  verb->add_flag("--describe", options->describe,
                 "The machine as JSON, for --machine, and nothing else");
  verb->add_flag("--json", options->json, "JSON on standard output, and nothing else");
  verb->footer(
      "Starts nothing. Exit codes: 0 good, warnings are possible; 1 the machine or the XML has "
      "errors; 2 the command line is wrong.");
  verb->callback([options, &exit_code] { exit_code = run_placement(*options); });
}

}  // namespace leat::cli
