// SPDX-License-Identifier: Apache-2.0
// What `leat placement` prints, for people and as JSON.

#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "server/cli/placement.hpp"

namespace leat::cli {
namespace {

using Json = nlohmann::ordered_json;
using platform::CpuSet;

constexpr int kPlacementVersion = 1;  // of the JSON

const char* name_of(model::Numa numa) {
  switch (numa) {
    case model::Numa::server:
      return "server";
    case model::Numa::client:
      return "client";
    case model::Numa::interleave:
      return "interleave";
  }
  return "?";
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string node_text(int node) { return node < 0 ? "any" : std::to_string(node); }

// The processors of one memory node, by who runs there.
struct NodeRow {
  platform::MemoryNode node;
  CpuSet ranks, server, free, others;
};

std::vector<NodeRow> rows_of_nodes(const PlacementReport& report) {
  const auto& [machine, allowed] = report.described;
  CpuSet ranks;
  for (const CpuSet& rank : report.ranks) ranks.unite(rank);
  CpuSet server;
  for (const platform::Placement& each : report.servers) server.unite(each.cpus);
  std::vector<NodeRow> rows;
  for (const platform::MemoryNode& node : machine.nodes) {
    const CpuSet cpus = machine.cpus_of(node.id);
    rows.push_back({node, cpus.common(ranks), cpus.common(server),
                    cpus.common(allowed).without(ranks).without(server), cpus.without(allowed)});
  }
  return rows;
}

Json server_json(const platform::Placement& server) {
  return {{"cpus", server.cpus.str()},
          {"cores", server.cores},
          {"memory_node", server.memory_node},
          {"pinned", server.pinned},
          {"shared", server.shared}};
}

// Ranks one after the other that are alike.
struct RankRow {
  std::size_t first = 0, last = 0;
  CpuSet cpus;
  int node = 0;
  std::string memory;
};

std::vector<RankRow> rows_of_ranks(const PlacementReport& report) {
  std::vector<RankRow> rows;
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    const int node = platform::node_of(report.described.machine, report.ranks[i]);
    platform::MemoryPlacement own = report.memory;
    if (own.interleaved.empty()) own.of_rank = {report.memory.of_rank[i]};
    const std::string memory = platform::describe(own, {static_cast<int>(i)});
    if (rows.empty() || rows.back().node != node || rows.back().memory != memory)
      rows.push_back({i, i, {}, node, memory});
    rows.back().last = i;
    rows.back().cpus.unite(report.ranks[i]);
  }
  return rows;
}

class PlacementScreen {
 public:
  PlacementScreen(const PlacementReport& report, const Look& look) : report_(report), look_(look) {}

  std::string run() {
    heading();
    nodes();
    ranks();
    server();
    return text_;
  }

 private:
  void section(const std::string& title) {
    text_ += "\n" + painted(title, Paint::bold, look_.colours) + "\n";
  }

  void heading() {
    const auto& [machine, allowed] = report_.described;
    const std::string file =
        report_.options.machine.empty() ? "this machine" : report_.options.machine;
    text_ += counted(machine.nodes.size(), "memory node") + ", " +
             counted(machine.cores(machine.all_cpus()).size(), "core") + ", " +
             counted(machine.cpus.size(), "processor") + "  " +
             painted("(" + file + ")", Paint::dim, look_.colours) + "\n";
    if (!allowed.contains(machine.all_cpus()))
      text_ += "a job may use processors " + allowed.str() + "\n";
  }

  void nodes() {
    section("Processors");
    std::vector<std::vector<Cell>> rows{
        header({"node", "memory", "of ranks", "of the server", "free", "not allowed"})};
    bool all_allowed = true;
    for (const NodeRow& row : rows_of_nodes(report_)) {
      all_allowed = all_allowed && row.others.empty();
      rows.push_back({{std::to_string(row.node.id)},
                      {row.node.bytes == 0 ? "none" : format_bytes(row.node.bytes)},
                      {or_dash(row.ranks.str())},
                      {or_dash(row.server.str()), Paint::green},
                      {or_dash(row.free.str())},
                      {or_dash(row.others.str()), Paint::dim}});
    }
    if (all_allowed) {
      for (std::vector<Cell>& row : rows) row.pop_back();
    }
    text_ += table_or_paragraphs(rows, look_);
  }

  void ranks() {
    section(counted(report_.ranks.size(), "rank"));
    std::vector<std::vector<Cell>> rows{
        header({"rank", "processors", "node", "what it writes lies on"})};
    for (const RankRow& row : rows_of_ranks(report_)) {
      const std::string last = row.last == row.first ? "" : "-" + std::to_string(row.last);
      rows.push_back({{std::to_string(row.first) + last},
                      {row.cpus.str()},
                      {node_text(row.node)},
                      {row.memory}});
    }
    text_ += table_or_paragraphs(rows, look_);
  }

  void server() {
    const bool alone = report_.servers.size() == 1;
    section(alone ? "Server" : counted(report_.servers.size(), "server"));
    const auto wanted = static_cast<std::uint64_t>(report_.architecture.dedicated_cores);
    std::vector<std::vector<Cell>> rows{
        {{alone ? "wants" : "want", Paint::dim}, {counted(wanted, "core")}}};
    for (std::size_t i = 0; i < report_.servers.size(); ++i) {
      rows.push_back({{alone ? "runs on" : std::to_string(i) + " runs on", Paint::dim},
                      {server_text(report_.servers[i])}});
    }
    rows.push_back({{"numa", Paint::dim}, {name_of(report_.architecture.numa)}});
    text_ += table(rows, look_);
  }

  const PlacementReport& report_;
  Look look_;
  std::string text_;
};

}  // namespace

std::string server_text(const platform::Placement& placement) {
  const char* how = placement.pinned   ? ", of its own"
                    : placement.shared ? ", shared with ranks"
                                       : ", as the system schedules it beside the ranks";
  return platform::describe(placement) + how;
}

std::string servers_text(const PlacementReport& report) {
  if (report.servers.size() == 1) return server_text(report.servers.front());
  std::vector<std::string> each;
  for (const platform::Placement& placement : report.servers)
    each.push_back(std::to_string(each.size()) + ": " + server_text(placement));
  return joined(each, "; ");
}

std::string screen(const PlacementReport& report, const Look& look) {
  return PlacementScreen(report, look).run();
}

std::string json(const PlacementReport& report) {
  Json nodes = Json::array(), ranks = Json::array();
  for (const NodeRow& row : rows_of_nodes(report)) {
    nodes.push_back({{"id", row.node.id},
                     {"memory_bytes", row.node.bytes},
                     {"ranks", row.ranks.str()},
                     {"server", row.server.str()},
                     {"free", row.free.str()},
                     {"not_allowed", row.others.str()}});
  }
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    const int node = platform::node_of(report.described.machine, report.ranks[i]);
    ranks.push_back(
        {{"rank", i},
         {"cpus", report.ranks[i].str()},
         {"node", node < 0 ? Json() : Json(node)},
         {"memory_nodes", report.memory.interleaved.empty() ? std::vector{report.memory.of_rank[i]}
                                                            : report.memory.interleaved}});
  }
  Json servers = Json::array();
  for (const platform::Placement& each : report.servers) servers.push_back(server_json(each));
  const Json whole{
      {"leat_placement", kPlacementVersion},
      {"machine", report.options.machine.empty() ? Json() : Json(report.options.machine)},
      {"allowed", report.described.allowed.str()},
      {"dedicated_cores", report.architecture.dedicated_cores},
      {"numa", name_of(report.architecture.numa)},
      {"server", servers.front()},
      {"servers", servers},
      {"nodes", nodes},
      {"ranks", ranks},
      {"warnings", report.warnings}};
  return whole.dump(2) + "\n";
}

}  // namespace leat::cli
