// SPDX-License-Identifier: Apache-2.0
// What the methods of crc32c.hpp need of arithmetic, and the methods of each kind of processor. Private to them.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lib/os/crc32c.hpp"

namespace leat::os {

// What the methods of crc32c.hpp need of arithmetic modulo the polynomial, computed by the
// compiler. Private to them.

inline constexpr std::uint32_t kCastagnoli = 0x82F63B78;  // 0x1EDC6F41 reflected: bit 31 is x^0

/// `value` * x, modulo the polynomial.
constexpr std::uint32_t times_x(std::uint32_t value) noexcept {
  return (value >> 1) ^ ((value & 1) != 0 ? kCastagnoli : 0);
}

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t value = 0;
  for (std::uint32_t power = 0x80000000; power != 0; power >>= 1, a = times_x(a)) {
    if ((b & power) != 0) value ^= a;
  }
  return value;
}

/// x^n, modulo the polynomial.
constexpr std::uint32_t power_of_x(std::size_t n) noexcept {
  std::uint32_t value = 0x80000000, square = 0x40000000;
  for (; n > 0; n /= 2, square = product(square, square)) {
    if (n % 2 != 0) value = product(value, square);
  }
  return value;
}

using ByteTable = std::array<std::uint32_t, 256>;

/// [k][byte]: the register after `byte` and k zeros. Eight of them take eight bytes at once: "A
/// Systematic Approach to Building High Performance Software-based CRC Generators", Kounavis and
/// Berry, Intel, 2005.
constexpr std::array<ByteTable, 8> slicing_tables() noexcept {
  std::array<ByteTable, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = times_x(value);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

/// The register after `Bytes` zeros, by four look-ups: [k][byte] for the register's byte k.
template <std::size_t Bytes>
constexpr std::array<ByteTable, 4> zeros_tables() noexcept {
  std::array<ByteTable, 4> tables{};
  for (std::size_t k = 0; k < 4; ++k) {
    // Bit b of byte k is x^(31 - 8k - b).
    std::uint32_t of_bit[8] = {};
    for (std::size_t bit = 0; bit < 8; ++bit) {
      of_bit[bit] = power_of_x(31 - 8 * k - bit + 8 * Bytes);
    }
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1) != 0) tables[k][byte] ^= of_bit[bit];
      }
    }
  }
  return tables;
}

inline std::uint64_t load_word(const char* from) noexcept {
  static_assert(std::endian::native == std::endian::little, "as the segment itself");
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// The methods of each kind of processor; empty on others. Private to crc32c.cpp.

std::vector<Crc32cMethod> crc32c_methods_of_x86();
std::vector<Crc32cMethod> crc32c_methods_of_arm();

}  // namespace leat::os
