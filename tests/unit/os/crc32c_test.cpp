// SPDX-License-Identifier: Apache-2.0
// Every method against the published examples, against the definition, and so against the others.
#include "lib/os/crc32c.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace leat::os {
namespace {

// Bit by bit: the remainder of a division by 0x1EDC6F41, low bits first.
std::uint32_t by_definition(const char* data, std::size_t bytes, std::uint32_t state) {
  for (std::size_t i = 0; i < bytes; ++i) {
    state ^= static_cast<unsigned char>(data[i]);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) ? 0x82F63B78u : 0);
  }
  return state;
}

std::vector<char> random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<char> bytes(count);
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::vector<Crc32cMethod> methods_of_this_machine() {
  std::vector<Crc32cMethod> here;
  for (const Crc32cMethod& method : crc32c_methods()) {
    if (method.runs_here) here.push_back(method);
  }
  return here;
}

TEST(Crc32c, ExamplesOfRfc3720) {
  std::vector<char> bytes(32, 0);
  EXPECT_EQ(crc32c(bytes.data(), 32), 0x8a9136aau);
  std::fill(bytes.begin(), bytes.end(), '\xff');
  EXPECT_EQ(crc32c(bytes.data(), 32), 0x62a8ab43u);
  std::iota(bytes.begin(), bytes.end(), '\0');
  EXPECT_EQ(crc32c(bytes.data(), 32), 0x46dd794eu);
  std::reverse(bytes.begin(), bytes.end());
  EXPECT_EQ(crc32c(bytes.data(), 32), 0x113fdb5cu);
  const unsigned char read_command[48] = {
      0x01, 0xc0, 0, 0,    0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 4, 0,
      0,    0,    0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 2,    0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(crc32c(read_command, 48), 0xd9963a56u);
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c("", 0), 0u);
}

TEST(Crc32c, EveryMethodIsTheDefinitionForAnyLengthPlaceAndStart) {
  constexpr std::size_t kLongest = 6000;
  const std::vector<char> memory = random_bytes(kLongest + 64, 1);
  std::mt19937 random(2);
  for (const Crc32cMethod& method : methods_of_this_machine()) {
    SCOPED_TRACE(method.name);
    for (std::size_t round = 0; round < 3000; ++round) {
      const std::size_t length = round < 1000 ? round : random() % kLongest;
      const std::size_t from = random() % 64, to = random() % 64;
      const std::uint32_t start = round % 3 == 0 ? 0 : static_cast<std::uint32_t>(random());
      const std::uint32_t expected = by_definition(memory.data() + from, length, start);
      ASSERT_EQ(method.sum(memory.data() + from, length, start), expected) << length;
      std::vector<char> copy(length + 128, 'x');
      ASSERT_EQ(method.copy(copy.data() + to, memory.data() + from, length, start), expected)
          << length;
      const auto first = copy.begin() + static_cast<std::ptrdiff_t>(to),
                 last = first + static_cast<std::ptrdiff_t>(length);
      ASSERT_TRUE(std::equal(first, last, memory.data() + from)) << length;
      const auto untouched = [](char c) { return c == 'x'; };
      ASSERT_TRUE(std::all_of(copy.begin(), first, untouched)) << length;
      ASSERT_TRUE(std::all_of(last, copy.end(), untouched)) << length;
    }
  }
}

TEST(Crc32c, ManyMebibytesAreOneSumHoweverTheyAreCut) {
  const std::vector<char> memory = random_bytes((5 << 20) + 13, 3);
  const std::uint32_t whole = ~by_definition(memory.data(), memory.size(), ~0u);
  for (const Crc32cMethod& method : methods_of_this_machine()) {
    EXPECT_EQ(~method.sum(memory.data(), memory.size(), ~0u), whole) << method.name;
  }
  std::vector<char> copy(memory.size());
  EXPECT_EQ(copy_crc32c(copy.data(), memory.data(), memory.size()), whole);
  EXPECT_EQ(copy, memory);
  std::mt19937 random(4);
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < memory.size();) {
    const std::size_t part = std::min<std::size_t>(random() % 100'000, memory.size() - at);
    sum = crc32c(memory.data() + at, part, sum);
    at += part;
  }
  EXPECT_EQ(sum, whole);
}

TEST(Crc32c, AnyBitThatChangesIsSeen) {
  std::vector<char> bytes = random_bytes(513, 5);
  const std::uint32_t before = crc32c(bytes.data(), bytes.size());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NE(crc32c(bytes.data(), bytes.size()), before) << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
}

TEST(Crc32c, TheMethodThatRunsEverywhereIsTheLast) {
  EXPECT_STREQ(crc32c_methods().back().name, "tables");
  EXPECT_TRUE(crc32c_methods().back().runs_here);
}

}  // namespace
}  // namespace leat::os
