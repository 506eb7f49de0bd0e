// SPDX-License-Identifier: Apache-2.0
#include "server/engine/placing.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/base/words.hpp"
#include "lib/platform/memory.hpp"
#include "lib/platform/numa_binding.hpp"
#include "server/placement/policy.hpp"
#include "server/placement/zones.hpp"

namespace leat::server {

bool Placing::has_memory_nodes() const {
  return host_.machine() && host_.machine()->nodes_of(platform::allowed_cpus()).size() > 1;
}

void Placing::place_when_known() {
  const bool known = session_.clients.all_have_attached() && !session_.clients.any_awaited();
  if (known) place();
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

void Placing::place() {
  if (!host_.machine()) return session_.memory.populate_in_background();
  const platform::Machine& machine = *host_.machine();
  const model::Architecture& architecture = session_.run.model.architecture;
  const Ranks ranks = ranks_here();
  const platform::CpuSet allowed = platform::allowed_cpus();
  const int wanted = static_cast<int>(architecture.dedicated_cores);
  const platform::Placement placement =
      platform::place_server(machine, allowed, ranks.affinities, wanted);
  host_.run_on(placement);
  dispatcher_.scripts().place(placement.cpus);
  const platform::MemoryPlacement memory = platform::place_memory(
      machine, allowed, placement, ranks.affinities, policy_of(architecture.numa));
  if (has_memory_nodes()) bind_memory(memory, ranks.clients);
  session_.memory.populate_in_background();
  PlacementNote note{platform::describe(placement), platform::describe(memory, ranks.names), {}};
  session_.run.log->info(
      "{} on this node, buffer {} on {}, server on {}", counted(session_.clients.size(), "rank"),
      platform::format_bytes(session_.run.segment.header().data_bytes), note.memory, note.server);
  for (std::string& line :
       platform::warnings(machine, placement, ranks.affinities, ranks.names, wanted)) {
    session_.run.log->warn("{}", line);
    note.warnings.push_back(std::move(line));
  }
  session_.record.ledger().incidents().placed(std::move(note));
}

// Containers refuse that: then the memory lies where the kernel puts it.
void Placing::bind_memory(const platform::MemoryPlacement& memory,
                          const std::vector<std::uint32_t>& here) {
  const shm::Segment& segment = session_.run.segment;
  const shm::SegmentHeader& header = segment.header();
  const shm::Region data{header.data_offset, header.data_bytes};
  if (!memory.interleaved.empty()) {
    platform::interleave_memory(segment.at<char>(data.offset), data.bytes, memory.interleaved);
    return;
  }
  for (const Zone& zone : zones_of(data, header.region_bytes, memory.of_rank)) {
    for (const shm::Region& range : zone.ranges())
      platform::prefer_memory_node(segment.at<char>(range.offset), range.bytes, zone.node);
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (memory.of_rank[i] == zone.node) session_.memory.regions().prefer(here[i], zone.ranges());
    }
  }
}

}  // namespace leat::server
