// SPDX-License-Identifier: Apache-2.0
// CRC-32C by the CRC extension of AArch64, which is optional in ARMv8.0 and there from 8.1 on.

#include "lib/os/crc32c_methods.hpp"

#ifdef __aarch64__
#include <sys/auxv.h>

#include <algorithm>

namespace leat::os {
namespace {

constexpr unsigned long kHasCrc32 = 1ul << 7;  // HWCAP_CRC32

// As assembly, so that a build for any AArch64 has it.
inline std::uint32_t take(std::uint32_t state, std::uint64_t word) noexcept {
  asm(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(state) : "r"(word));
  return state;
}

inline std::uint32_t take(std::uint32_t state, unsigned char byte) noexcept {
  asm(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1"
      : "+r"(state)
      : "r"(static_cast<std::uint32_t>(byte)));
  return state;
}

constexpr std::size_t kStream = 512;
constexpr auto kAfterOne = zeros_tables<kStream>();
constexpr auto kAfterTwo = zeros_tables<2 * kStream>();

inline std::uint32_t after_zeros(const std::array<ByteTable, 4>& tables,
                                 std::uint32_t state) noexcept {
  return tables[0][state & 0xFF] ^ tables[1][state >> 8 & 0xFF] ^ tables[2][state >> 16 & 0xFF] ^
         tables[3][state >> 24];
}

// Three sums beside each other, because one waits for its own last step.
std::uint32_t three_streams(const char* data, std::size_t bytes, std::uint32_t state) noexcept {
  for (; bytes >= 3 * kStream; data += 3 * kStream, bytes -= 3 * kStream) {
    std::uint32_t b = 0, c = 0;
    for (std::size_t at = 0; at < kStream; at += 8) {
      state = take(state, load_word(data + at));
      b = take(b, load_word(data + kStream + at));
      c = take(c, load_word(data + 2 * kStream + at));
    }
    state = after_zeros(kAfterTwo, state) ^ after_zeros(kAfterOne, b) ^ c;
  }
  for (; bytes >= 8; data += 8, bytes -= 8) state = take(state, load_word(data));
  for (; bytes > 0; ++data, --bytes) state = take(state, static_cast<unsigned char>(*data));
  return state;
}

// The sum is of the copy, and of a part that is still in the first cache.
std::uint32_t copy_and_sum(char* to, const char* from, std::size_t bytes,
                           std::uint32_t state) noexcept {
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, 3 * kStream);
    std::memcpy(to, from, part);
    state = three_streams(to, part, state);
    to += part, from += part, bytes -= part;
  }
  return state;
}

}  // namespace

std::vector<Crc32cMethod> crc32c_methods_of_arm() {
  return {{"crc32c", (getauxval(AT_HWCAP) & kHasCrc32) != 0, three_streams, copy_and_sum}};
}

}  // namespace leat::os
#else
namespace leat::os {
std::vector<Crc32cMethod> crc32c_methods_of_arm() { return {}; }
}  // namespace leat::os
#endif
