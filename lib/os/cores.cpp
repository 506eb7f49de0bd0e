// SPDX-License-Identifier: Apache-2.0
#include "lib/os/cores.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <vector>

#include "lib/base/text.hpp"

namespace leat::os {

static_assert(CPU_SETSIZE >= CpuSet::kMaxCpus);

void CpuSet::add(int cpu) noexcept {
  if (cpu >= 0 && cpu < kMaxCpus) bits_[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
}

bool CpuSet::has(int cpu) const noexcept {
  return cpu >= 0 && cpu < kMaxCpus && (bits_[cpu / 64] >> (cpu % 64) & 1);
}

int CpuSet::count() const noexcept {
  int sum = 0;
  for (const std::uint64_t word : bits_) sum += std::popcount(word);
  return sum;
}

CpuSet CpuSet::without(const CpuSet& other) const noexcept {
  CpuSet rest = *this;
  for (std::size_t i = 0; i < bits_.size(); ++i) rest.bits_[i] &= ~other.bits_[i];
  return rest;
}

void CpuSet::unite(const CpuSet& other) noexcept {
  for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
}

std::string CpuSet::str() const {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (has(cpu)) cpus.push_back(cpu);
  }
  return range_text(cpus);
}

namespace {

// Takes a number off the front of `text`.
std::optional<int> take_cpu(std::string_view* text) {
  int cpu = -1;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, cpu);
  if (error != std::errc() || cpu < 0 || cpu >= CpuSet::kMaxCpus) return std::nullopt;
  text->remove_prefix(static_cast<std::size_t>(rest - text->data()));
  return cpu;
}

}  // namespace

std::optional<CpuSet> parse_cpus(std::string_view text) {
  CpuSet cpus;
  while (!text.empty()) {
    const std::optional<int> first = take_cpu(&text);
    std::optional<int> last = first;
    if (first && text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_cpu(&text);
    }
    if (!first || !last || *last < *first) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.add(cpu);
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return cpus;
}

CpuSet current_affinity() noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CpuSet cpus;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.add(cpu);
  }
  return cpus;
}

bool set_affinity(const CpuSet& cpus, int thread_id) noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
    if (cpus.has(cpu)) CPU_SET(cpu, &mask);
  }
  return sched_setaffinity(thread_id, sizeof mask, &mask) == 0;
}

void set_affinity_of_process(const CpuSet& cpus, int process_id) {
  set_affinity(cpus, process_id);  // first: what this thread starts from here on inherits it
  const std::string process = process_id == 0 ? "self" : std::to_string(process_id);
  std::error_code error;
  for (std::filesystem::directory_iterator task("/proc/" + process + "/task", error), end;
       !error && task != end; task.increment(error)) {
    const std::string id = task->path().filename().string();
    int thread = 0;
    std::from_chars(id.data(), id.data() + id.size(), thread);
    if (thread > 0) set_affinity(cpus, thread);
  }
}

int current_core() noexcept { return sched_getcpu(); }

CpuSet allowed_cpus() noexcept {
  const CpuSet before = current_affinity();
  const char* const pretended = std::getenv("LEAT_CPUS");
  std::optional<CpuSet> wish = parse_cpus(pretended ? pretended : "");
  if (!wish || wish->empty()) {
    wish.emplace();
    for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) wish->add(cpu);
  }
  // The kernel cuts a wish down to what the cpuset of the process allows.
  if (!set_affinity(*wish)) return before;
  const CpuSet allowed = current_affinity();
  set_affinity(before);
  return allowed;
}

namespace {

// Not SCHED_IDLE: beside threads that never sleep it would not run at all, with what it has locked.
void be_patient(int nice) noexcept {
  const sched_param none{};
  sched_setscheduler(0, SCHED_BATCH, &none);  // does not preempt others when it wakes up
  setpriority(PRIO_PROCESS, 0, nice);         // on Linux: of this thread
}

}  // namespace

void name_thread(const char* name) noexcept { pthread_setname_np(pthread_self(), name); }

void run_in_background() noexcept { be_patient(19); }

void go_behind_others() noexcept { be_patient(5); }

void run_when_idle() noexcept {
  const sched_param none{};
  sched_setscheduler(0, SCHED_IDLE, &none);
}

int memory_node_of(const CpuSet& cpus, const std::string& folder) {
  std::error_code error;
  if (cpus.empty()) return 0;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::string list;
    std::ifstream(entry->path() / "cpulist") >> list;
    const std::optional<CpuSet> here = parse_cpus(list);
    if (name.starts_with("node") && here && here->contains(cpus))
      return std::atoi(name.c_str() + 4);
  }
  return 0;
}

int Machine::distance(int from, int to) const {
  const auto known = distances.find({from, to});
  if (known != distances.end()) return known->second;
  return from == to ? kNear : kFar;
}

CpuSet Machine::all_cpus() const {
  CpuSet all;
  for (const Cpu& cpu : cpus) all.add(cpu.id);
  return all;
}

CpuSet Machine::cpus_of(int node) const {
  CpuSet here;
  for (const Cpu& cpu : cpus) {
    if (cpu.memory_node == node) here.add(cpu.id);
  }
  return here;
}

std::map<Core, CpuSet> Machine::cores(const CpuSet& allowed) const {
  std::map<Core, CpuSet> cores;
  for (const Cpu& cpu : cpus) {
    if (allowed.has(cpu.id)) cores[{cpu.memory_node, cpu.core}].add(cpu.id);
  }
  return cores;
}

bool Machine::has_memory(int node) const {
  return nodes.empty() || std::any_of(nodes.begin(), nodes.end(), [node](const MemoryNode& each) {
           return each.id == node && each.bytes > 0;
         });
}

std::vector<int> Machine::nodes_of(const CpuSet& set) const {
  std::set<int> found;
  for (const Cpu& cpu : cpus) {
    if (set.has(cpu.id) && has_memory(cpu.memory_node)) found.insert(cpu.memory_node);
  }
  return {found.begin(), found.end()};
}

int Machine::nearest_memory(int node) const {
  if (has_memory(node)) return node;
  std::vector<int> all = nodes_of(all_cpus());
  if (all.empty()) {
    for (const MemoryNode& each : nodes) {
      if (each.bytes > 0) all.push_back(each.id);
    }
  }
  const auto nearest = std::min_element(
      all.begin(), all.end(), [&](int a, int b) { return distance(node, a) < distance(node, b); });
  return nearest == all.end() ? node : *nearest;
}

}  // namespace leat::os
