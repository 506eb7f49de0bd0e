// SPDX-License-Identifier: Apache-2.0
#include "client-api/first_use.hpp"

#include <algorithm>

namespace leat::client {

FirstUse::FirstUse(const char* base, std::uint64_t bytes)
    : base_(base),
      skipped_(reinterpret_cast<std::uintptr_t>(base) % kWindow),
      used_((skipped_ + bytes) / kWindow / 64 + 1) {}

// Not before `least`: what lies there may be somebody else's, and without memory.
void FirstUse::read(std::uint64_t window, std::uint64_t least) const noexcept {
  const std::uint64_t start = window * kWindow;
  const std::uint64_t offset = std::max(least, start > skipped_ ? start - skipped_ : 0);
  (void)*static_cast<const volatile char*>(base_ + offset);
}

}  // namespace leat::client
