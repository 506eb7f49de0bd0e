// SPDX-License-Identifier: Apache-2.0
// CRC-32C by the instructions of x86-64. They are compiled in whatever the build is for, and used where the processor
// has them.

#include "lib/os/crc32c_methods.hpp"

#ifdef __x86_64__
#ifndef __clang__  // GCC 12 warns of its own header, GCC bug 105593
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#define LEAT_CRC32 __attribute__((target("sse4.2,pclmul")))
#define LEAT_FOLDING __attribute__((target("sse4.2,pclmul,avx2,vpclmulqdq")))
#define LEAT_WIDE __attribute__((target("sse4.2,pclmul,avx2,avx512f,vpclmulqdq")))

namespace leat::os {
namespace {

// What each method does, with a copy or without one.
enum class Mode { sum, copy };

// A product of two reflected polynomials comes out divided by x; CRC32 of a word multiplies it by
// x^32: hence the 33 below.

// One word after the other: three cycles each.
template <Mode mode>
LEAT_CRC32 inline std::uint32_t word_by_word(char* to, const char* from, std::size_t bytes,
                                             std::uint32_t state) noexcept {
  std::uint64_t wide = state;
  for (; bytes >= 8; from += 8, to += 8, bytes -= 8) {
    const std::uint64_t word = load_word(from);
    wide = _mm_crc32_u64(wide, word);
    if constexpr (mode == Mode::copy) std::memcpy(to, &word, 8);
  }
  state = static_cast<std::uint32_t>(wide);
  for (; bytes > 0; ++from, ++to, --bytes) {
    const char byte = *from;
    state = _mm_crc32_u8(state, static_cast<unsigned char>(byte));
    if constexpr (mode == Mode::copy) *to = byte;
  }
  return state;
}

// The register after `Bytes` zeros.
template <std::size_t Bytes>
LEAT_CRC32 inline std::uint64_t after_zeros(std::uint64_t state) noexcept {
  constexpr std::uint32_t kPower = power_of_x(8 * Bytes - 33);
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(state)),
                                               _mm_cvtsi64_si128(kPower), 0);
  return _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(product)));
}

// The instruction takes a word per cycle when three sums run beside each other. With a copy they
// are of words that a copy in order has just stored: loads that follow three streams of stores
// would wait for those whose addresses look alike.
constexpr std::size_t kStream = 128;

template <Mode mode>
LEAT_CRC32 std::uint32_t three_streams(char* to, const char* from, std::size_t bytes,
                                       std::uint32_t state) noexcept {
  std::uint64_t a = state;
  for (; bytes >= 3 * kStream; from += 3 * kStream, bytes -= 3 * kStream) {
    const char* data = from;
    if constexpr (mode == Mode::copy) {
#pragma GCC unroll 4
      for (std::size_t at = 0; at < 3 * kStream; at += 16) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
      }
      data = to;
      to += 3 * kStream;
    }
    std::uint64_t b = 0, c = 0;
#pragma GCC unroll 4
    for (std::size_t at = 0; at < kStream; at += 8) {
      a = _mm_crc32_u64(a, load_word(data + at));
      b = _mm_crc32_u64(b, load_word(data + kStream + at));
      c = _mm_crc32_u64(c, load_word(data + 2 * kStream + at));
    }
    a = after_zeros<2 * kStream>(a) ^ after_zeros<kStream>(b) ^ c;
  }
  return word_by_word<mode>(to, from, bytes, static_cast<std::uint32_t>(a));
}

// Folding: "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Gopal and
// others, Intel, 2009. A vector is multiplied by x^(its distance to the next one) and added to
// that; the last one is what the instruction above takes. 256 bits are as fast as 512 where memory
// is what limits, half as fast in the caches.
template <std::size_t Bytes>
LEAT_FOLDING inline __m128i powers() noexcept {
  return _mm_set_epi64x(power_of_x(8 * Bytes - 33), power_of_x(8 * Bytes + 31));
}

LEAT_FOLDING inline __m256i fold(__m256i vector, __m256i by, __m256i next) noexcept {
  const __m256i low = _mm256_clmulepi64_epi128(vector, by, 0x00);
  const __m256i high = _mm256_clmulepi64_epi128(vector, by, 0x11);
  return _mm256_xor_si256(_mm256_xor_si256(low, high), next);
}

template <Mode mode>
LEAT_FOLDING inline __m256i take(char* to, const char* from) noexcept {
  const __m256i vector = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  if constexpr (mode == Mode::copy) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), vector);
  return vector;
}

LEAT_FOLDING inline std::uint32_t end_of_folding(__m256i vector) noexcept {
  const __m128i first = _mm256_castsi256_si128(vector), by = powers<16>();
  const __m128i last = _mm_xor_si128(
      _mm256_extracti128_si256(vector, 1),
      _mm_xor_si128(_mm_clmulepi64_si128(first, by, 0x00), _mm_clmulepi64_si128(first, by, 0x11)));
  const auto low = static_cast<std::uint64_t>(_mm_cvtsi128_si64(last));
  const auto high = static_cast<std::uint64_t>(_mm_extract_epi64(last, 1));
  return static_cast<std::uint32_t>(_mm_crc32_u64(_mm_crc32_u64(0, low), high));
}

template <Mode mode>
LEAT_FOLDING std::uint32_t folded(char* to, const char* from, std::size_t bytes,
                                  std::uint32_t state) noexcept {
  constexpr std::size_t kVector = 32, kTurn = 4 * kVector;
  if (bytes < kTurn) return word_by_word<mode>(to, from, bytes, state);
  const __m256i start = _mm256_zextsi128_si256(_mm_cvtsi32_si128(static_cast<int>(state)));
  __m256i a = _mm256_xor_si256(take<mode>(to, from), start);
  __m256i b = take<mode>(to + kVector, from + kVector);
  __m256i c = take<mode>(to + 2 * kVector, from + 2 * kVector);
  __m256i d = take<mode>(to + 3 * kVector, from + 3 * kVector);
  const __m256i by_turn = _mm256_broadcastsi128_si256(powers<kTurn>());
  from += kTurn, to += kTurn, bytes -= kTurn;
  for (; bytes >= kTurn; from += kTurn, to += kTurn, bytes -= kTurn) {
    a = fold(a, by_turn, take<mode>(to, from));
    b = fold(b, by_turn, take<mode>(to + kVector, from + kVector));
    c = fold(c, by_turn, take<mode>(to + 2 * kVector, from + 2 * kVector));
    d = fold(d, by_turn, take<mode>(to + 3 * kVector, from + 3 * kVector));
  }
  const __m256i by_vector = _mm256_broadcastsi128_si256(powers<kVector>());
  d = fold(fold(fold(a, by_vector, b), by_vector, c), by_vector, d);
  return word_by_word<mode>(to, from, bytes, end_of_folding(d));
}

LEAT_WIDE inline __m512i fold(__m512i vector, __m512i by, __m512i next) noexcept {
  constexpr int kXorOfThree = 0x96;
  const __m512i low = _mm512_clmulepi64_epi128(vector, by, 0x00);
  const __m512i high = _mm512_clmulepi64_epi128(vector, by, 0x11);
  return _mm512_ternarylogic_epi64(low, high, next, kXorOfThree);
}

template <Mode mode>
LEAT_WIDE inline __m512i take_wide(char* to, const char* from) noexcept {
  const __m512i vector = _mm512_loadu_si512(from);
  if constexpr (mode == Mode::copy) _mm512_storeu_si512(to, vector);
  return vector;
}

LEAT_WIDE inline std::uint32_t end_of_folding(__m512i vector) noexcept {
  const __m256i by = _mm256_broadcastsi128_si256(powers<32>());
  return end_of_folding(
      fold(_mm512_castsi512_si256(vector), by, _mm512_extracti64x4_epi64(vector, 1)));
}

template <Mode mode>
LEAT_WIDE std::uint32_t folded_wide(char* to, const char* from, std::size_t bytes,
                                    std::uint32_t state) noexcept {
  constexpr std::size_t kVector = 64, kTurn = 4 * kVector;
  if (bytes < kTurn) return folded<mode>(to, from, bytes, state);
  const __m512i start = _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state)));
  __m512i a = _mm512_xor_si512(take_wide<mode>(to, from), start);
  __m512i b = take_wide<mode>(to + kVector, from + kVector);
  __m512i c = take_wide<mode>(to + 2 * kVector, from + 2 * kVector);
  __m512i d = take_wide<mode>(to + 3 * kVector, from + 3 * kVector);
  const __m512i by_turn = _mm512_broadcast_i32x4(powers<kTurn>());
  from += kTurn, to += kTurn, bytes -= kTurn;
  for (; bytes >= kTurn; from += kTurn, to += kTurn, bytes -= kTurn) {
    a = fold(a, by_turn, take_wide<mode>(to, from));
    b = fold(b, by_turn, take_wide<mode>(to + kVector, from + kVector));
    c = fold(c, by_turn, take_wide<mode>(to + 2 * kVector, from + 2 * kVector));
    d = fold(d, by_turn, take_wide<mode>(to + 3 * kVector, from + 3 * kVector));
  }
  const __m512i by_vector = _mm512_broadcast_i32x4(powers<kVector>());
  d = fold(fold(fold(a, by_vector, b), by_vector, c), by_vector, d);
  return folded<mode>(to, from, bytes, end_of_folding(d));
}

// Without a copy nothing is written; `to` is only counted along.
std::uint32_t sum_in_streams(const char* data, std::size_t bytes, std::uint32_t state) noexcept {
  return three_streams<Mode::sum>(const_cast<char*>(data), data, bytes, state);
}

std::uint32_t sum_folded(const char* data, std::size_t bytes, std::uint32_t state) noexcept {
  return folded<Mode::sum>(const_cast<char*>(data), data, bytes, state);
}

std::uint32_t sum_folded_wide(const char* data, std::size_t bytes, std::uint32_t state) noexcept {
  return folded_wide<Mode::sum>(const_cast<char*>(data), data, bytes, state);
}

}  // namespace

std::vector<Crc32cMethod> crc32c_methods_of_x86() {
  // What the operating system does not save is not reported as there.
  __builtin_cpu_init();
  const bool streams = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  const bool folding =
      streams && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
  const bool wide = folding && __builtin_cpu_supports("avx512f");
  return {{"vpclmulqdq, 512 bits", wide, sum_folded_wide, folded_wide<Mode::copy>},
          {"vpclmulqdq", folding, sum_folded, folded<Mode::copy>},
          {"crc32", streams, sum_in_streams, three_streams<Mode::copy>}};
}

}  // namespace leat::os
#else
namespace leat::os {
std::vector<Crc32cMethod> crc32c_methods_of_x86() { return {}; }
}  // namespace leat::os
#endif
