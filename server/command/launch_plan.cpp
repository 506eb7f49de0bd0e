// SPDX-License-Identifier: Apache-2.0
#include "server/command/launch_plan.hpp"

#include <algorithm>
#include <filesystem>

#include "lib/base/text.hpp"
#include "server/command/placement_report.hpp"

namespace leat::command {
namespace {

std::int64_t shares(std::int64_t whole, std::int64_t each) { return (whole + each - 1) / each; }

Error misfit(const std::string& message) { return {Status::ERROR_CONFIG, message}; }

std::string name_of_node(const std::string& file) {
  return file.empty() ? "a node like this machine" : "a node of " + file;
}

Error machine_error(const std::string& file, const Error& error) {
  const bool is_there = file.empty() || std::filesystem::exists(file);
  return {error.status, error.message + (is_there ? ""
                                                  : "; to have it, type on such a node: "
                                                    "leat placement --describe > " +
                                                        file)};
}

// Nodes that would have no rank.
Result<void> judge_nodes(const LaunchOptions& options, std::int64_t per_node) {
  const std::int64_t filled = shares(options.ranks, per_node);
  if (filled == options.nodes) return {};
  return misfit("-n " + std::to_string(options.ranks) + " --nodes " +
                std::to_string(options.nodes) + ": with " + counted(per_node, "rank") +
                " on a node, " + counted(filled, "node") + (filled == 1 ? " is" : " are") +
                " enough; say --nodes " + std::to_string(filled));
}

Result<void> judge_room(const LaunchOptions& options, std::int64_t per_node,
                        const std::string& machine, std::int64_t room, std::int64_t dedicated) {
  if (per_node <= room) return {};
  const std::string asked = counted(per_node, "rank") + " on " + name_of_node(machine) + ": " +
                            options.xml + " gives " + counted(dedicated, "core") +
                            " of it to the server";
  if (room == 0) {
    return misfit(asked +
                  ", and no other is left; give fewer in <dedicated cores=\"...\">, or "
                  "take nodes with more cores");
  }
  return misfit(asked + ", so " + counted(room, "rank") + (room == 1 ? " fits" : " fit") +
                "; say --nodes " + std::to_string(shares(options.ranks, room)) + ", or -n " +
                std::to_string(room * options.nodes));
}

struct NodeKind {
  std::string file;
  server::DescribedMachine described;
};

std::vector<platform::CpuSet> bound_on(const NodeKind& kind, std::int64_t ranks,
                                       const model::Architecture& architecture) {
  return launched_for_servers(kind.described, static_cast<int>(ranks), architecture);
}

// How many ranks each memory node gets, where each has a server and all have the same; 0: they do
// not.
std::int64_t on_each_memory_node(const NodeKind& kind, std::int64_t started, std::int64_t servers) {
  const std::size_t nodes = kind.described.machine.nodes_of(kind.described.allowed).size();
  const bool fits = servers > 1 && nodes == static_cast<std::size_t>(servers);
  return fits && started % servers == 0 ? started / servers : 0;
}

Result<std::vector<NodeKind>> kinds_of(const LaunchOptions& options) {
  std::vector<std::string> files = options.machines;
  if (files.empty()) files.push_back("");
  std::vector<NodeKind> kinds;
  for (const std::string& file : files) {
    PlacementOptions asked;
    asked.machine = file;
    Result<server::DescribedMachine> described = machine_of(asked);
    if (!described) return machine_error(file, described.error());
    kinds.push_back({file, std::move(*described)});
  }
  return kinds;
}

// Open MPI looks for the cores itself, on each node anew; the others have one list for all nodes.
Result<void> judge_alike(Launcher launcher, const std::vector<NodeKind>& kinds,
                         std::int64_t per_node, const model::Architecture& architecture) {
  if (launcher == Launcher::openmpi) return {};
  const auto other = std::find_if(kinds.begin(), kinds.end(), [&](const NodeKind& kind) {
    return bound_on(kind, per_node, architecture) !=
           bound_on(kinds.front(), per_node, architecture);
  });
  if (other == kinds.end()) return {};
  return misfit("ranks are on other processors of " + other->file + " than of " +
                kinds.front().file +
                ", and this launcher has one list for all nodes; start them on nodes of one kind, "
                "or with --launcher openmpi");
}

}  // namespace

Result<LaunchPlan> plan_launch(const LaunchOptions& options, Launcher launcher) {
  const Result<model::Model> model = model_of(options.xml);
  if (!model) return model.error();
  const std::int64_t dedicated = model->architecture.dedicated_cores;
  const std::int64_t per_node = shares(options.ranks, options.nodes);
  const Result<void> filled = judge_nodes(options, per_node);
  if (!filled) return filled.error();
  const Result<std::vector<NodeKind>> kinds = kinds_of(options);
  if (!kinds) return kinds.error();
  const auto room = [&](const NodeKind& kind) {
    return room_for_ranks(kind.described, model->architecture);
  };
  const NodeKind& least =
      *std::min_element(kinds->begin(), kinds->end(),
                        [&](const NodeKind& a, const NodeKind& b) { return room(a) < room(b); });
  const Result<void> fits = judge_room(options, per_node, least.file, room(least), dedicated);
  if (!fits) return fits.error();
  // The last ranks of each node are its server then, on the cores that it would have had.
  const bool in_ranks = model->architecture.place == model::Place::ranks;
  const std::int64_t started = per_node + (in_ranks ? dedicated : 0);
  const Result<void> alike = judge_alike(launcher, *kinds, per_node, model->architecture);
  if (!alike) return alike.error();
  return LaunchPlan{model->name,
                    options.ranks + (started - per_node) * options.nodes,
                    options.nodes,
                    started,
                    room(least) + dedicated,
                    bound_on(least, per_node, model->architecture),
                    options.program,
                    on_each_memory_node(least, started, model->architecture.servers)};
}

}  // namespace leat::command
