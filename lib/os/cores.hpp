// SPDX-License-Identifier: Apache-2.0
// Processors and memory nodes: of this machine, of a thread, of a machine that is described.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat::os {

// Which processors a thread may run on.

/// A set of processor numbers, a plain value that can travel in a message.
class CpuSet {
 public:
  static constexpr int kMaxCpus = 1024;

  void add(int cpu) noexcept;
  bool has(int cpu) const noexcept;
  int count() const noexcept;
  bool empty() const noexcept { return count() == 0; }
  /// This set without the processors of `other`.
  CpuSet without(const CpuSet& other) const noexcept;
  /// What is in both.
  CpuSet common(const CpuSet& other) const noexcept { return without(without(other)); }
  void unite(const CpuSet& other) noexcept;
  bool contains(const CpuSet& other) const noexcept { return other.without(*this).empty(); }
  /// "0-2,7": the notation of taskset and the kernel. "" for the empty set.
  std::string str() const;
  bool operator==(const CpuSet&) const = default;

 private:
  std::array<std::uint64_t, kMaxCpus / 64> bits_{};
};

/// The set that str() writes as `text`. Nothing for other text and for numbers that no set holds.
std::optional<CpuSet> parse_cpus(std::string_view text);

/// Processors that the calling thread may use now; the empty set when the kernel does not tell.
CpuSet current_affinity() noexcept;

/// The processor that the calling thread is on; -1 when the kernel does not say.
int current_core() noexcept;

/// Processors that this process could be given: all that exist, less what a container or batch system withholds.
/// LEAT_CPUS ("0-3,8") makes them fewer, as `leat launch --pretend-nodes` does for each node.
/// A binding that a launcher set for a rank is looked past. The affinity of the calling thread is unchanged afterwards.
CpuSet allowed_cpus() noexcept;

/// Binds a thread of this process (0: the calling one), and threads it starts later. False when the kernel refuses.
bool set_affinity(const CpuSet& cpus, int thread_id = 0) noexcept;

/// Binds all threads of a process (0: this one), those that libraries have started too.
void set_affinity_of_process(const CpuSet& cpus, int process_id = 0);

// What a thread is called, and how urgent it is to the kernel. How urgent needs no privilege, is for
// good, as there is no way back without one, and is no matter when the kernel refuses.

/// The calling thread, as top and debuggers show it: at most 15 characters.
void name_thread(const char* name) noexcept;

/// The calling thread runs in the gaps that others leave.
void run_in_background() noexcept;

/// Other threads on its processors go first: for work that nobody waits for at once, beside a thread
/// that somebody does wait for.
void go_behind_others() noexcept;

/// The calling thread, and those it starts later, run in the time that nobody else wants (SCHED_IDLE).
/// Beside threads that never sleep that is none: not for one that has locked what others need.
void run_when_idle() noexcept;

// On which memory node a process is at home, without libnuma.

/// The memory node that has all of these processors; 0 when they are on several, or it cannot be
/// known. `folder`: what Linux says of memory nodes.
int memory_node_of(const CpuSet& cpus, const std::string& folder = "/sys/devices/system/node");

// A node of a cluster, described: its processors, its memory nodes and how far they are from one
// another. A plain value, so that placement is tested on machines that nobody here owns.
struct Cpu {
  int id = 0;
  int core = 0;  ///< processors of one core (hardware threads) share this number
  int memory_node = 0;
};

struct MemoryNode {
  int id = 0;
  std::uint64_t bytes = 0;  ///< 0: none, or none that this process may use
};

/// A core by its memory node and its number: numbers may repeat from node to node.
using Core = std::pair<int, int>;

struct Machine {
  std::vector<Cpu> cpus;          ///< those that are online
  std::vector<MemoryNode> nodes;  ///< empty: each memory node of a processor has memory
  /// Of the first node from the second, as the firmware gives it; kNear and kFar where it is
  /// silent.
  std::map<std::pair<int, int>, int> distances{};

  static constexpr int kNear = 10, kFar = 20;
  int distance(int from, int to) const;
  CpuSet all_cpus() const;
  CpuSet cpus_of(int node) const;
  /// The cores that have one of these processors, with those of their processors that are in the
  /// set.
  std::map<Core, CpuSet> cores(const CpuSet& allowed) const;
  bool has_memory(int node) const;
  /// Memory nodes that have both memory and one of these processors. A node without processors
  /// (high-bandwidth memory, CXL) is nobody's own, and is left to those who ask for it.
  std::vector<int> nodes_of(const CpuSet& cpus) const;
  /// This node, or, where it has no memory, the nearest that has: one with processors, if there is
  /// one.
  int nearest_memory(int node) const;
};

}  // namespace leat::os
