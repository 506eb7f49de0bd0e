// SPDX-License-Identifier: Apache-2.0
// What `leat placement` prints, as JSON and for people.

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/model/words.hpp"
#include "server/cli/placement.hpp"

namespace leat::cli {
namespace {

using os::CpuSet;

constexpr int kPlacementVersion = 1;  // of the JSON

// The processors of each memory node, by who runs there.
Json nodes_of(const PlacementReport& report) {
  const auto& [machine, allowed] = report.described;
  CpuSet ranks, server;
  for (const CpuSet& rank : report.ranks) ranks.unite(rank);
  for (const node::Placement& each : report.servers) server.unite(each.cpus);
  Json nodes = Json::array();
  for (const os::MemoryNode& node : machine.nodes) {
    const CpuSet cpus = machine.cpus_of(node.id);
    nodes.push_back({{"id", node.id},
                     {"memory_bytes", node.bytes},
                     {"ranks", cpus.common(ranks).str()},
                     {"server", cpus.common(server).str()},
                     {"free", cpus.common(allowed).without(ranks).without(server).str()},
                     {"not_allowed", cpus.without(allowed).str()}});
  }
  return nodes;
}

Json json_of_server(const node::Placement& server) {
  return {{"cpus", server.cpus.str()},
          {"cores", server.cores},
          {"memory_node", server.memory_node},
          {"pinned", server.pinned},
          {"shared", server.shared}};
}

// Ranks one after the other that are alike are one row.
Json rows_of_ranks(const PlacementReport& report) {
  Json rows = Json::array();
  CpuSet cpus;
  for (std::size_t i = 0, first = 0; i < report.ranks.size(); ++i) {
    node::MemoryPlacement own = report.memory;
    if (own.interleaved.empty()) own.of_rank = {report.memory.of_rank[i]};
    const std::string memory = node::describe(own, {static_cast<int>(i)});
    const int node = node::node_of(report.described.machine, report.ranks[i]);
    if (rows.empty() || rows.back()["node"] != node || rows.back()["memory"] != memory) {
      rows.push_back({{"node", node}, {"memory", memory}});
      first = i;
      cpus = {};
    }
    cpus.unite(report.ranks[i]);
    rows.back()["rank"] = std::to_string(first) + (i > first ? "-" + std::to_string(i) : "");
    rows.back()["processors"] = cpus.str();
  }
  return rows;
}

Cell memory_of_node(const Json& node) {
  return {node["memory_bytes"] == 0 ? "none" : shown_bytes(node, "memory_bytes")};
}

}  // namespace

std::string server_text(const node::Placement& placement) {
  const char* how = placement.pinned   ? ", of its own"
                    : placement.shared ? ", shared with ranks"
                                       : ", as the system schedules it beside the ranks";
  return node::describe(placement) + how;
}

std::string servers_text(const PlacementReport& report) {
  if (report.servers.size() == 1) return server_text(report.servers.front());
  std::vector<std::string> each;
  for (const node::Placement& placement : report.servers)
    each.push_back(std::to_string(each.size()) + ": " + server_text(placement));
  return joined(each, "; ");
}

std::string screen(const PlacementReport& report, const Look& look) {
  Screen screen(look);
  const auto& [machine, allowed] = report.described;
  const std::string& file = report.options.machine;
  screen.line(counted(machine.nodes.size(), "memory node") + ", " +
              counted(machine.cores(machine.all_cpus()).size(), "core") + ", " +
              counted(machine.cpus.size(), "processor") + "  " +
              screen.paint("(" + (file.empty() ? "this machine" : file) + ")", Paint::dim));
  if (!allowed.contains(machine.all_cpus()))
    screen.line("a job may use processors " + allowed.str());

  const Json nodes = nodes_of(report);
  std::vector<Field> fields{text("node", "id"), made({.title = "memory"}, memory_of_node),
                            text("of ranks", "ranks"),
                            made({.title = "of the server"},
                                 [](const Json& node) {
                                   return Cell{shown(node, "server"), Paint::green};
                                 }),
                            text("free")};
  if (std::any_of(nodes.begin(), nodes.end(), [](const Json& n) { return n["not_allowed"] != ""; }))
    fields.push_back(made({.title = "not allowed"}, [](const Json& node) {
      return Cell{shown(node, "not_allowed"), Paint::dim};
    }));
  screen.section("Processors");
  screen.table(nodes, fields);

  screen.section(counted(report.ranks.size(), "rank"));
  screen.table(
      rows_of_ranks(report),
      {text("rank"), text("processors"),
       made({.title = "node"},
            [](const Json& row) { return Cell{row["node"] < 0 ? "any" : shown(row, "node")}; }),
       text("what it writes lies on", "memory")});

  const bool alone = report.servers.size() == 1;
  screen.section(alone ? "Server" : counted(report.servers.size(), "server"));
  const auto wanted = static_cast<std::uint64_t>(report.architecture.dedicated_cores);
  screen.fact(alone ? "wants" : "want", counted(wanted, "core"));
  for (std::size_t i = 0; i < report.servers.size(); ++i)
    screen.fact((alone ? "" : std::to_string(i) + " ") + "runs on", server_text(report.servers[i]));
  screen.fact("numa", model::word_of(report.architecture.numa));
  return screen.text();
}

Json json_of(const PlacementReport& report) {
  Json ranks = Json::array(), servers = Json::array();
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    const int node = node::node_of(report.described.machine, report.ranks[i]);
    const std::vector<int>& interleaved = report.memory.interleaved;
    ranks.push_back({{"rank", i},
                     {"cpus", report.ranks[i].str()},
                     {"node", node < 0 ? Json() : Json(node)},
                     {"memory_nodes",
                      interleaved.empty() ? std::vector{report.memory.of_rank[i]} : interleaved}});
  }
  for (const node::Placement& each : report.servers) servers.push_back(json_of_server(each));
  const std::string& file = report.options.machine;
  return {{"leat_placement", kPlacementVersion},
          {"machine", file.empty() ? Json() : Json(file)},
          {"allowed", report.described.allowed.str()},
          {"dedicated_cores", report.architecture.dedicated_cores},
          {"numa", model::word_of(report.architecture.numa)},
          {"server", servers.front()},
          {"servers", servers},
          {"nodes", nodes_of(report)},
          {"ranks", std::move(ranks)},
          {"warnings", report.warnings}};
}

}  // namespace leat::cli
