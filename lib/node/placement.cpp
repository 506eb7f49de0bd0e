// SPDX-License-Identifier: Apache-2.0
#include "lib/node/placement.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/file_lock.hpp"

namespace leat::node {
namespace {

// The first thing that server_of gives to this server.
int first_of(int whole, int server, int servers) noexcept {
  const long long product = static_cast<long long>(server) * whole;
  return static_cast<int>((product + servers - 1) / servers);
}

}  // namespace

Share share_of(int whole, int server, int servers) noexcept {
  const int first = first_of(whole, server, servers);
  return {first, first_of(whole, server + 1, servers) - first};
}

int server_of(int index, int whole, int servers) noexcept {
  return static_cast<int>(static_cast<long long>(index) * servers / whole);
}

std::string name_of_server(const std::string& node, int server) {
  return server == 0 ? node : node + "." + std::to_string(server);
}

// Of a name that is too long the beginning goes: what differs from run to run is at the end.
std::string session_of_server(const std::string& run, int server) {
  std::string name = name_of_server(run, server);
  if (name.size() > kLongestSessionName) name.erase(0, name.size() - kLongestSessionName);
  if (name.front() == '.') name.front() = '_';
  return name;
}

namespace {

using Cores = std::map<os::Core, os::CpuSet>;

bool overlap(const os::CpuSet& a, const os::CpuSet& b) { return !a.common(b).empty(); }

std::size_t cores_in(const Cores& cores, const os::CpuSet& set) {
  return static_cast<std::size_t>(std::count_if(
      cores.begin(), cores.end(), [&](const auto& core) { return overlap(core.second, set); }));
}

os::CpuSet union_of(const std::vector<os::CpuSet>& sets) {
  os::CpuSet all;
  for (const os::CpuSet& set : sets) all.unite(set);
  return all;
}

bool is_bound(const os::CpuSet& rank, const os::CpuSet& allowed) {
  return !rank.empty() && !rank.contains(allowed);
}

// Cores that ranks may use and will not: launchers bind several ranks to one socket, and which of
// its cores stay idle is the system's choice. A rank alone in its set has threads for all of it.
std::size_t idle_cores(const Cores& cores, const std::vector<os::CpuSet>& bound) {
  std::size_t busy = 0;
  for (const os::CpuSet& rank : bound) {
    const bool alone = std::count(bound.begin(), bound.end(), rank) == 1;
    busy += alone ? cores_in(cores, rank) : 1;
  }
  const std::size_t all = cores_in(cores, union_of(bound));
  return all - std::min(busy, all);
}

std::vector<os::Core> free_cores(const Cores& cores, const std::vector<os::CpuSet>& bound) {
  const os::CpuSet taken = union_of(bound);
  std::vector<os::Core> free;
  for (const auto& [core, cpus] : cores) {
    if (!overlap(cpus, taken)) free.push_back(core);
  }
  return free;
}

// The cores that no rank is bound to; where there is none, the hardware threads.
os::CpuSet left_over(const Cores& cores, const std::vector<os::Core>& free,
                     const std::vector<os::CpuSet>& bound) {
  os::CpuSet left;
  for (const os::Core& core : free) left.unite(cores.at(core));
  if (!left.empty()) return left;
  for (const auto& [core, cpus] : cores) left.unite(cpus);
  return left.without(union_of(bound));
}

// The memory node on which most of these processors are, counted over all sets; the lowest number
// wins a tie.
int busiest_node(const os::Machine& machine, const os::CpuSet& allowed,
                 const std::vector<os::CpuSet>& sets) {
  std::map<int, int> votes;
  for (const os::Cpu& cpu : machine.cpus) {
    if (!allowed.has(cpu.id)) continue;
    int& count = votes[cpu.memory_node];
    for (const os::CpuSet& set : sets) count += set.has(cpu.id);
  }
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == votes.end() ? 0 : most->first;
}

// Free cores, those to be taken first at the front.
std::vector<os::Core> preferred(const os::Machine& machine, const std::vector<os::Core>& free,
                                int near) {
  std::vector<os::Core> sorted = free;
  std::sort(sorted.begin(), sorted.end(), [&](const os::Core& a, const os::Core& b) {
    const int to_a = machine.distance(near, a.first), to_b = machine.distance(near, b.first);
    return to_a != to_b ? to_a < to_b : a > b;
  });
  return sorted;
}

// What the machine has of `allowed`, or, should it know nothing of that, all of `allowed`.
os::CpuSet there(const os::Machine& machine, const os::CpuSet& allowed) {
  const os::CpuSet known = allowed.common(machine.all_cpus());
  return known.empty() ? allowed : known;
}

std::string plural(const char* noun, std::size_t count) {
  return std::string(noun) + (count == 1 ? " " : "s ");
}

std::string cores_text(const os::CpuSet& cpus) {
  return plural("core", static_cast<std::size_t>(cpus.count())) + cpus.str();
}

std::string ranks_text(std::vector<int> names) {
  if (names.empty()) return "ranks of another server";
  std::sort(names.begin(), names.end());
  return plural("rank", names.size()) + range_text(names);
}

// All processors of the cores of which the server has one.
os::CpuSet whole_cores(const os::Machine& machine, const os::CpuSet& cpus) {
  os::CpuSet whole;
  for (const auto& [core, threads] : machine.cores(machine.all_cpus())) {
    if (overlap(threads, cpus)) whole.unite(threads);
  }
  return whole;
}

// A rank of which the kernel told nothing may be anywhere.
std::string overlap_warning(const os::Machine& machine, const Placement& placement,
                            const std::vector<os::CpuSet>& ranks, const std::vector<int>& names) {
  const os::CpuSet cores = whole_cores(machine, placement.cpus);
  os::CpuSet taken;
  std::vector<int> there;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const os::CpuSet at = ranks[i].empty() ? placement.cpus : ranks[i].common(cores);
    if (at.empty()) continue;
    taken.unite(at);
    there.push_back(names[i]);
  }
  return "no core is free for the server: it shares " + cores_text(placement.cpus) + " with " +
         ranks_text(there) + (taken == placement.cpus ? "" : ", on " + cores_text(taken)) +
         ", and output will cost them time; start fewer ranks per node";
}

int nearest_of(const os::Machine& machine, const std::vector<int>& nodes, int from) {
  return *std::min_element(nodes.begin(), nodes.end(), [&](int a, int b) {
    return machine.distance(from, a) < machine.distance(from, b);
  });
}

// The memory node that is a server's share where its ranks say nothing of theirs.
int own_node(const os::Machine& machine, const os::CpuSet& allowed, int server, int servers) {
  std::set<int> nodes;
  for (const os::Cpu& cpu : machine.cpus) {
    if (allowed.has(cpu.id)) nodes.insert(cpu.memory_node);
  }
  if (nodes.empty()) return 0;
  return *std::next(nodes.begin(), server_of(server, servers, static_cast<int>(nodes.size())));
}

std::vector<os::CpuSet> bound_of(const os::CpuSet& allowed, const std::vector<os::CpuSet>& ranks) {
  std::vector<os::CpuSet> bound;
  for (const os::CpuSet& rank : ranks) {
    if (is_bound(rank, allowed)) bound.push_back(rank);
  }
  return bound;
}

// Where most of its ranks are.
int near_of(const os::Machine& machine, const os::CpuSet& allowed,
            const std::vector<os::CpuSet>& ranks, int server, int servers) {
  if (servers == 1) return busiest_node(machine, allowed, ranks);
  const Share own = share_of(static_cast<int>(ranks.size()), server, servers);
  const std::vector<os::CpuSet> bound =
      bound_of(allowed, {ranks.begin() + own.first, ranks.begin() + own.first + own.count});
  return bound.empty() ? own_node(machine, allowed, server, servers)
                       : busiest_node(machine, allowed, bound);
}

// A node as its servers find it.
struct Occupied {
  Cores cores;
  std::vector<os::CpuSet> bound;
  std::vector<os::Core> free;
};

// One of several stays on its memory node, if it can.
Placement roaming(const os::Machine& machine, const os::CpuSet& allowed, const Occupied& node,
                  int near, bool alone) {
  Placement placement{there(machine, allowed), machine.nearest_memory(near)};
  os::CpuSet left = left_over(node.cores, node.free, node.bound);
  if (left.empty()) left = placement.cpus;
  const os::CpuSet here = left.common(machine.cpus_of(near));
  placement.cpus = alone || here.empty() ? left : here;
  return placement;
}

// Takes the cores away from those that are free.
Placement pinned(const os::Machine& machine, Occupied* node, int near, int wanted) {
  const std::vector<os::Core> order = preferred(machine, node->free, near);
  Placement placement;
  placement.cores = static_cast<int>(std::min(order.size(), static_cast<std::size_t>(wanted)));
  placement.pinned = true;
  for (int i = 0; i < placement.cores; ++i) {
    placement.cpus.unite(node->cores.at(order[i]));
    std::erase(node->free, order[i]);
  }
  placement.memory_node = machine.nearest_memory(order.front().first);
  return placement;
}

}  // namespace

std::vector<Placement> place_servers(const os::Machine& machine, const os::CpuSet& allowed,
                                     const std::vector<os::CpuSet>& ranks, int wanted,
                                     int servers) {
  Occupied node{machine.cores(allowed), bound_of(allowed, ranks), {}};
  node.free = free_cores(node.cores, node.bound);
  const std::size_t unbound = ranks.size() - node.bound.size();
  const std::size_t needed = unbound + static_cast<std::size_t>(wanted);
  const bool is_short = node.free.size() + idle_cores(node.cores, node.bound) < needed;
  const bool may_pin = unbound == 0 && node.free.size() >= static_cast<std::size_t>(servers);
  const int cores = std::min(wanted, static_cast<int>(node.free.size()));
  std::vector<Placement> placements;
  for (int server = 0; server < servers; ++server) {
    const int near = near_of(machine, allowed, ranks, server, servers);
    if (may_pin) {
      placements.push_back(pinned(machine, &node, near, share_of(cores, server, servers).count));
      continue;
    }
    placements.push_back(roaming(machine, allowed, node, near, servers == 1));
    placements.back().shared = is_short;
  }
  return placements;
}

Placement place_server(const os::Machine& machine, const os::CpuSet& allowed,
                       const std::vector<os::CpuSet>& ranks, int wanted) {
  return place_servers(machine, allowed, ranks, wanted, 1).front();
}

std::string describe(const Placement& placement) {
  return cores_text(placement.cpus) + ", memory node " + std::to_string(placement.memory_node);
}

std::vector<std::string> warnings(const os::Machine& machine, const Placement& placement,
                                  const std::vector<os::CpuSet>& ranks,
                                  const std::vector<int>& names, int wanted) {
  std::vector<std::string> lines;
  if (placement.shared) lines.push_back(overlap_warning(machine, placement, ranks, names));
  if (placement.pinned && placement.cores < wanted) {
    lines.push_back("of the " + std::to_string(wanted) + " cores for the server only " +
                    std::to_string(placement.cores) +
                    " can be had, since ranks are on the others: " + cores_text(placement.cpus));
  }
  return lines;
}

int node_of(const os::Machine& machine, const os::CpuSet& rank) {
  std::set<int> nodes;
  for (const os::Cpu& cpu : machine.cpus) {
    if (rank.has(cpu.id)) nodes.insert(cpu.memory_node);
  }
  return nodes.size() == 1 ? *nodes.begin() : -1;
}

MemoryPlacement place_memory(const os::Machine& machine, const os::CpuSet& allowed,
                             const Placement& server, const std::vector<os::CpuSet>& ranks,
                             MemoryPolicy policy) {
  if (policy == MemoryPolicy::interleave) {
    std::vector<int> nodes = machine.nodes_of(allowed);
    if (nodes.empty()) nodes.push_back(server.memory_node);
    return {nodes, {}};
  }
  std::vector<int> of_server = machine.nodes_of(server.cpus);
  if (!server.pinned || of_server.empty()) of_server = {server.memory_node};
  MemoryPlacement placement;
  for (const os::CpuSet& rank : ranks) {
    const int node = node_of(machine, rank);
    const bool at_home = node >= 0 && policy == MemoryPolicy::client;
    placement.of_rank.push_back(at_home     ? machine.nearest_memory(node)
                                : node >= 0 ? nearest_of(machine, of_server, node)
                                            : server.memory_node);
  }
  return placement;
}

std::string describe(const MemoryPlacement& placement, const std::vector<int>& names) {
  if (!placement.interleaved.empty()) {
    const std::vector<int>& nodes = placement.interleaved;
    return "memory " + plural("node", nodes.size()) + range_text(nodes) +
           (nodes.size() == 1 ? "" : " in turns");
  }
  std::map<int, std::vector<int>> ranks;
  for (std::size_t i = 0; i < names.size(); ++i) ranks[placement.of_rank[i]].push_back(names[i]);
  std::string text;
  for (const auto& [node, there] : ranks) {
    text += (text.empty() ? "memory node " : ", ") + std::to_string(node);
    if (ranks.size() > 1) text += " for " + ranks_text(there);
  }
  return text.empty() ? "no memory node" : text;
}

namespace {

struct RankRecord {
  std::uint64_t is_known = 0;
  os::CpuSet cpus;
};

off_t place_of(int rank) {
  return static_cast<off_t>(rank) * static_cast<off_t>(sizeof(RankRecord));
}

void write_record(const os::UniqueFd& file, int rank, const RankRecord& record) {
  const ssize_t written = ::pwrite(file.get(), &record, sizeof record, place_of(rank));
  (void)written;  // what is missing is not known
}

}  // namespace

RanksOfNode::RanksOfNode(std::string path, int ranks, int server, int servers)
    : path_(std::move(path)),
      file_(os::open_to_write(path_)),
      ranks_(ranks),
      server_(server),
      servers_(servers) {
  if (!file_) return;
  const Share own = share_of(ranks, server, servers);
  for (int i = 0; i < own.count; ++i) write_record(file_, own.first + i, {});
  os::lock_byte(file_, server);
}

RanksOfNode::~RanksOfNode() {
  if (file_ && !os::bytes_are_locked(file_, 0, servers_)) ::unlink(path_.c_str());
}

void RanksOfNode::note(const std::vector<os::CpuSet>& own) {
  if (!file_) return;
  const int first = share_of(ranks_, server_, servers_).first;
  for (std::size_t i = 0; i < own.size(); ++i)
    write_record(file_, first + static_cast<int>(i), {1, own[i]});
}

bool RanksOfNode::read(int rank, os::CpuSet* cpus) const {
  RankRecord record;
  if (!file_ || !os::byte_is_locked(file_, server_of(rank, ranks_, servers_))) return false;
  const ssize_t got = ::pread(file_.get(), &record, sizeof record, place_of(rank));
  if (got != static_cast<ssize_t>(sizeof record) || record.is_known != 1) return false;
  *cpus = record.cpus;
  return true;
}

RanksOfNode::Known RanksOfNode::known(const std::vector<os::CpuSet>& own) const {
  if (servers_ == 1) return {own, true};
  Known found{std::vector<os::CpuSet>(static_cast<std::size_t>(ranks_)), true};
  const Share mine = share_of(ranks_, server_, servers_);
  for (int rank = 0; rank < ranks_; ++rank) {
    const bool is_mine = rank >= mine.first && rank < mine.first + mine.count;
    if (!is_mine && !read(rank, &found.ranks[static_cast<std::size_t>(rank)])) found.all = false;
  }
  std::copy(own.begin(), own.end(), found.ranks.begin() + mine.first);
  return found;
}

}  // namespace leat::node
