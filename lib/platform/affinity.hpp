// SPDX-License-Identifier: Apache-2.0
// Which processors a thread may run on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat::platform {

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
/// A binding that a launcher set for a rank is looked past. The affinity of the calling thread is unchanged afterwards.
CpuSet allowed_cpus() noexcept;

/// Binds a thread of this process (0: the calling one), and threads it starts later. False when the kernel refuses.
bool set_affinity(const CpuSet& cpus, int thread_id = 0) noexcept;

/// Binds all threads of a process (0: this one), those that libraries have started too.
void set_affinity_of_process(const CpuSet& cpus, int process_id = 0);

}  // namespace leat::platform
