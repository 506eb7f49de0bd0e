// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/affinity.hpp"

#include <sched.h>

#include <bit>

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
  std::string text;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (!has(cpu)) continue;
    int last = cpu;
    while (has(last + 1)) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpu);
    if (last > cpu) text += '-' + std::to_string(last);
    cpu = last;
  }
  return text;
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
