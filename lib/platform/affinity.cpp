// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/affinity.hpp"

#include <sched.h>

#include <bit>
#include <charconv>
#include <filesystem>
#include <vector>

#include "lib/base/range_text.hpp"

namespace leat::platform {

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
  CpuSet everything;
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) everything.add(cpu);
  // The kernel cuts a wish down to what the cpuset of the process allows.
  if (!set_affinity(everything)) return before;
  const CpuSet allowed = current_affinity();
  set_affinity(before);
  return allowed;
}

}  // namespace leat::platform
