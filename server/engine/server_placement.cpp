// SPDX-License-Identifier: Apache-2.0
// Server: on which cores it runs, and on which memory nodes its segment lies.
#include <algorithm>

#include "lib/platform/memory.hpp"
#include "lib/platform/numa_binding.hpp"
#include "server/placement/policy.hpp"
#include "server/placement/zones.hpp"
#include "server/engine/server.hpp"

namespace leat::server {
namespace {

// More threads than this only wait for one another in the kernel.
constexpr std::int64_t kMostPopulating = 4;

}  // namespace

bool Server::has_memory_nodes() const {
  return machine_.nodes_of(platform::allowed_cpus()).size() > 1;
}

// Once it is known where all ranks are that will ever come.
void Server::place_when_known() {
  const bool known = std::none_of(clients_.begin(), clients_.end(), [](const ClientLink& client) {
    return client.phase() == ClientLink::Phase::absent || client.is_awaited();
  });
  if (known) place_myself();
}

void Server::place_myself() {
  std::vector<platform::CpuSet> ranks;
  std::vector<int> names;
  std::vector<std::uint32_t> here;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i].is_gone()) continue;
    ranks.push_back(clients_[i].affinity());
    names.push_back(clients_[i].rank());
    here.push_back(i);
  }
  const platform::CpuSet allowed = platform::allowed_cpus();
  const int wanted = static_cast<int>(model_.architecture.dedicated_cores);
  placement_ = platform::place_server(machine_, allowed, ranks, wanted);
  platform::set_affinity_of_process(placement_.cpus);
  scripts_.place(placement_.cpus);
  const platform::MemoryPlacement memory = platform::place_memory(
      machine_, allowed, placement_, ranks, policy_of(model_.architecture.numa));
  if (has_memory_nodes()) bind_memory(memory, here);
  populate_in_background();
  PlacementNote note{platform::describe(placement_), platform::describe(memory, names), {}};
  log_->info("{} rank{} on this node, buffer {} on {}, server on {}", clients_.size(),
             clients_.size() == 1 ? "" : "s", platform::format_bytes(segment_.header().data_bytes),
             note.memory, note.server);
  for (std::string& line : platform::warnings(machine_, placement_, ranks, names, wanted)) {
    log_->warn("{}", line);
    note.warnings.push_back(std::move(line));
  }
  ledger_.placed(std::move(note));
}

// Containers refuse that: then the memory lies where the kernel puts it.
void Server::bind_memory(const platform::MemoryPlacement& memory,
                         const std::vector<std::uint32_t>& here) {
  const shm::SegmentHeader& header = segment_.header();
  const shm::Extent data{header.data_offset, header.data_bytes};
  if (!memory.interleaved.empty()) {
    platform::interleave_memory(segment_.at<char>(data.offset), data.bytes, memory.interleaved);
    return;
  }
  for (const Zone& zone : zones_of(data, header.extent_bytes, memory.of_rank)) {
    for (const shm::Extent& range : zone.ranges())
      platform::prefer_memory_node(segment_.at<char>(range.offset), range.bytes, zone.node);
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (memory.of_rank[i] == zone.node) leases_.prefer(here[i], zone.ranges());
    }
  }
}

void Server::populate_in_background() {
  populator_.start(static_cast<unsigned>(
      std::clamp<std::int64_t>(model_.architecture.dedicated_cores, 1, kMostPopulating)));
}

}  // namespace leat::server
