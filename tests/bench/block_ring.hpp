// SPDX-License-Identifier: Apache-2.0
// Blocks of one size in turn, aligned as those of Leat are: one that stays in the caches, or many
// that do not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace leat::bench {

/// More than the last caches hold.
inline constexpr std::size_t kUncached = std::size_t{128} << 20;

class BlockRing {
 public:
  /// At least `room` bytes in at least one block, all touched.
  BlockRing(std::size_t bytes, std::size_t room)
      : step_((bytes + kAlignment - 1) / kAlignment * kAlignment),
        blocks_(std::max<std::size_t>(1, room / step_)),
        memory_(static_cast<char*>(std::aligned_alloc(kAlignment, step_ * blocks_)), std::free) {
    std::memset(memory_.get(), 1, step_ * blocks_);
  }

  char* next() {
    at_ = at_ + 1 < blocks_ ? at_ + 1 : 0;
    return memory_.get() + at_ * step_;
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  std::size_t step_, blocks_, at_ = 0;
  std::unique_ptr<char, decltype(&std::free)> memory_;
};

}  // namespace leat::bench
