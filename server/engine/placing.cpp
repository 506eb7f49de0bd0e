// SPDX-License-Identifier: Apache-2.0
#include "server/engine/placing.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/control/machine_file.hpp"
#include "lib/os/memory.hpp"
#include "lib/os/numa_binding.hpp"
#include "lib/shm/zones.hpp"

namespace leat::server {
namespace {

// Ranks of other servers come at about the same time, or something is wrong with them.
constexpr std::int64_t kOthersLimitNs = 10'000'000'000;

}  // namespace

bool Placing::has_memory_nodes() const {
  return host_.machine() && host_.machine()->nodes_of(os::allowed_cpus()).size() > 1;
}

void Placing::place_when_known() {
  const bool known = session_.clients.all_have_attached() && !session_.clients.any_awaited();
  if (!known) return;
  const node::RanksOfNode::Known node = host_.ranks_of_node(affinities());
  if (!must_wait(node.all)) place(node.ranks);
}

// Those of whom nothing is told may be anywhere: then no core is taken for good.
bool Placing::must_wait(bool all_known) {
  if (since_ns_ == 0) since_ns_ = session_.run.now_ns;
  if (!all_known && session_.run.now_ns - since_ns_ < kOthersLimitNs) return true;
  since_ns_ = 0;
  return false;
}

std::vector<os::CpuSet> Placing::affinities() const {
  std::vector<os::CpuSet> all;
  for (const ClientLink& client : session_.clients) all.push_back(client.affinity());
  return all;
}

Placing::Ranks Placing::ranks_here() const {
  Ranks ranks;
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i) {
    const ClientLink& client = session_.clients[i];
    if (client.is_gone()) continue;
    ranks.affinities.push_back(client.affinity());
    ranks.names.push_back(client.rank());
    ranks.clients.push_back(i);
  }
  return ranks;
}

// With one server the dead have no say; of several each has to see the same.
node::Placement Placing::placement(const std::vector<os::CpuSet>& of_node) const {
  const RunFacts& facts = session_.run.facts;
  const os::Machine& machine = *host_.machine();
  const os::CpuSet allowed = os::allowed_cpus();
  if (facts.servers == 1) {
    return node::place_server(machine, allowed, ranks_here().affinities,
                              static_cast<int>(session_.run.model.architecture.dedicated_cores));
  }
  return node::place_servers(machine, allowed, of_node, facts.cores_on_node,
                             facts.servers)[static_cast<std::size_t>(facts.server)];
}

void Placing::place(const std::vector<os::CpuSet>& of_node) {
  if (!host_.machine()) return session_.memory.prefault_in_background();
  const os::Machine& machine = *host_.machine();
  const model::Architecture& architecture = session_.run.model.architecture;
  const Ranks ranks = ranks_here();
  const os::CpuSet allowed = os::allowed_cpus();
  const int wanted = static_cast<int>(architecture.dedicated_cores);
  const node::Placement placement = this->placement(of_node);
  host_.run_on(placement);
  session_.run.facts.cores_are_shared = placement.shared;
  dispatcher_.scripts().place(placement.cpus);
  const node::MemoryPlacement memory = node::place_memory(
      machine, allowed, placement, ranks.affinities, policy_of(architecture.numa));
  if (has_memory_nodes()) bind_memory(memory, ranks.clients);
  session_.memory.prefault_in_background();
  PlacementNote note{node::describe(placement), node::describe(memory, ranks.names), {}};
  session_.run.log->debug(
      "{} on this node, buffer {} on {}, server on {}", counted(session_.clients.size(), "rank"),
      format_bytes(session_.run.segment.header().data_bytes), note.memory, note.server);
  for (std::string& line :
       node::warnings(machine, placement, ranks.affinities, ranks.names, wanted)) {
    session_.run.log->warn("{}", line);
    note.warnings.push_back(std::move(line));
  }
  session_.record.ledger().incidents().placed(std::move(note));
}

// Containers refuse that: then the memory lies where the kernel puts it.
void Placing::bind_memory(const node::MemoryPlacement& memory,
                          const std::vector<std::uint32_t>& here) {
  const shm::Segment& segment = session_.run.segment;
  const shm::SegmentHeader& header = segment.header();
  const shm::Region data{header.data_offset, header.data_bytes};
  if (!memory.interleaved.empty()) {
    os::interleave_memory(segment.at<char>(data.offset), data.bytes, memory.interleaved);
    return;
  }
  for (const Zone& zone : zones_of(data, header.region_bytes, memory.of_rank)) {
    for (const shm::Region& range : zone.ranges())
      os::prefer_memory_node(segment.at<char>(range.offset), range.bytes, zone.node);
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (memory.of_rank[i] == zone.node) session_.memory.regions().prefer(here[i], zone.ranges());
    }
  }
}

}  // namespace leat::server
