// SPDX-License-Identifier: Apache-2.0
#include "lib/os/crc32c.hpp"

#include <algorithm>

#include "lib/os/crc32c_methods.hpp"

namespace leat::os {
namespace {

constexpr std::array<ByteTable, 8> kTables = slicing_tables();

std::uint32_t sum_by_tables(const char* data, std::size_t bytes, std::uint32_t state) noexcept {
  for (; bytes >= 8; data += 8, bytes -= 8) {
    const std::uint64_t word = load_word(data) ^ state;
    state = 0;
    for (std::size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][word >> (8 * k) & 0xFF];
  }
  for (; bytes > 0; ++data, --bytes) {
    state = (state >> 8) ^ kTables[0][(state ^ static_cast<unsigned char>(*data)) & 0xFF];
  }
  return state;
}

// The sum is of the copy, and of a part that is still in the first cache.
std::uint32_t copy_by_tables(char* to, const char* from, std::size_t bytes,
                             std::uint32_t state) noexcept {
  constexpr std::size_t kPart = 4096;
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, kPart);
    std::memcpy(to, from, part);
    state = sum_by_tables(to, part, state);
    to += part, from += part, bytes -= part;
  }
  return state;
}

std::vector<Crc32cMethod> all_methods() {
  std::vector<Crc32cMethod> all = crc32c_methods_of_x86();
  const std::vector<Crc32cMethod> arm = crc32c_methods_of_arm();
  all.insert(all.end(), arm.begin(), arm.end());
  all.push_back({"tables", true, sum_by_tables, copy_by_tables});
  return all;
}

const Crc32cMethod& best() noexcept {
  static const Crc32cMethod method = *std::find_if(crc32c_methods().begin(), crc32c_methods().end(),
                                                   [](const auto& m) { return m.runs_here; });
  return method;
}

}  // namespace

std::span<const Crc32cMethod> crc32c_methods() noexcept {
  static const std::vector<Crc32cMethod> all = all_methods();
  return all;
}

std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t seed) noexcept {
  return ~best().sum(static_cast<const char*>(data), bytes, ~seed);
}

std::uint32_t copy_crc32c(void* to, const void* from, std::size_t bytes,
                          std::uint32_t seed) noexcept {
  return ~best().copy(static_cast<char*>(to), static_cast<const char*>(from), bytes, ~seed);
}

}  // namespace leat::os
