// SPDX-License-Identifier: Apache-2.0
// Pages of the segment come into this process' page tables at their first use. A write does that
// page by page, a read for all that lie around the page (Linux: fault_around_bytes, 64 KiB): so
// memory that is new here is read once before it is written, at a sixth of the cost.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/shm/leases.hpp"

namespace leat::client {

/// Private to the process; called with the session's mutex held.
class FirstUse {
 public:
  /// `base`: of the mapping, `bytes` long.
  FirstUse(const char* base, std::uint64_t bytes);

  /// Before a region is written for which there is memory.
  void of(shm::Region region) noexcept {
    const std::uint64_t end = skipped_ + region.offset + region.bytes;
    for (std::uint64_t window = (skipped_ + region.offset) / kWindow; window * kWindow < end;
         ++window) {
      std::uint64_t& used = used_[window / 64];
      const std::uint64_t bit = std::uint64_t{1} << window % 64;
      if ((used & bit) != 0) continue;
      used |= bit;
      read(window, region.offset);
    }
  }

 private:
  static constexpr std::uint64_t kWindow = 64 << 10;

  void read(std::uint64_t window, std::uint64_t least) const noexcept;

  const char* base_;
  std::uint64_t skipped_;  // from the window's start to `base`: windows are aligned addresses
  std::vector<std::uint64_t> used_;
};

}  // namespace leat::client
