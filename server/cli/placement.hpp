// SPDX-License-Identifier: Apache-2.0
// `leat placement`: where ranks, server and memory will be on a machine, this one or a described one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/control/machine_file.hpp"
#include "lib/model/model.hpp"
#include "lib/node/placement.hpp"
#include "server/cli/screen.hpp"

namespace leat::cli {

// What `leat placement` has found out, before it becomes a screen or JSON.
struct PlacementOptions {
  std::string machine;  ///< "": this one
  std::string xml;      ///< "": what an empty <architecture> means
  std::optional<std::int64_t> ranks;
  std::string bind = "core";           ///< core, node or none
  std::vector<std::string> rank_cpus;  ///< "0-3", one of each rank
  bool describe = false;
  bool json = false;
};

struct PlacementReport {
  PlacementOptions options;
  server::DescribedMachine described;
  model::Architecture architecture;
  std::vector<os::CpuSet> ranks;
  std::vector<node::Placement> servers;
  node::MemoryPlacement memory;
  std::vector<std::string> warnings;
};

Result<server::DescribedMachine> machine_of(const PlacementOptions& options);

Result<PlacementReport> report_placement(const PlacementOptions& options);
/// With this <architecture>, whatever options.xml is.
Result<PlacementReport> report_placement(const PlacementOptions& options,
                                         const model::Architecture& architecture);

/// What the XML says; or all that is wrong with it.
Result<model::Model> model_of(const std::string& xml);

/// Cores that are left for ranks when the server has those that it wants.
std::int64_t room_for_ranks(const server::DescribedMachine& described,
                            const model::Architecture& architecture);

/// So many ranks, bound as launchers do: to cores, node by node and there from the lowest number, or
/// to nodes in turns.
std::vector<os::CpuSet> launched(const server::DescribedMachine& described, std::size_t ranks,
                                 const std::string& bind);
/// The same, bound to cores, with room beside each server's ranks for its own cores. With
/// place="ranks" those that become servers are among them, on these cores.
std::vector<os::CpuSet> launched_for_servers(const server::DescribedMachine& described, int ranks,
                                             const model::Architecture& architecture);

std::string screen(const PlacementReport& report, const Look& look);
/// "core 7, memory node 1, of its own".
std::string server_text(const node::Placement& placement);
/// Of all of them.
std::string servers_text(const PlacementReport& report);
/// "memory node 0 for ranks 0-3, 1 for ranks 4-6".
std::string memory_text(const PlacementReport& report);
Json json_of(const PlacementReport& report);

}  // namespace leat::cli
