// SPDX-License-Identifier: Apache-2.0
// The bytes that tests write; leat_run.py's data() makes the same ones with numpy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace leat::test {

/// Every byte depends on the seed and on its place.
inline void fill(void* to, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = seed * 0x9E3779B97F4A7C15u + (at / 8 + 1) * 0xBF58476D1CE4E5B9u;
    word ^= word >> 29;
    std::memcpy(static_cast<char*>(to) + at, &word, std::min<std::size_t>(8, bytes - at));
  }
}

}  // namespace leat::test
