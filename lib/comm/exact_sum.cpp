// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace leat::comm {
namespace {

constexpr int kDigitBits = 32;
constexpr std::int64_t kDigitMask = 0xffffffff;
constexpr std::uint32_t kMostAdditions = 1U << 30;
// The largest double reaches bit 2098; 2^64 of them have 64 bits more.
constexpr std::int32_t kMostDigits = (2098 + 64 + kDigitBits - 1) / kDigitBits + 1;
constexpr int kMantissaBits = 53;
constexpr std::uint8_t kNan = 1, kPlus = 2, kMinus = 4;

std::uint8_t special_of(double value) {
  if (std::isnan(value)) return kNan;
  return value > 0 ? kPlus : kMinus;
}

double special_value(std::uint8_t special) {
  if ((special & kNan) || special == (kPlus | kMinus))
    return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return special == kPlus ? infinity : -infinity;
}

// Of a number that is not negative and whose digits are carried.
struct Magnitude {
  std::vector<std::uint32_t> digits;  // from 2^-1074 on

  int highest_bit() const {
    for (std::size_t i = digits.size(); i-- > 0;)
      if (digits[i]) return static_cast<int>(i) * kDigitBits + std::bit_width(digits[i]) - 1;
    return -1;
  }
  bool bit(int at) const {
    return at >= 0 && (digits[static_cast<std::size_t>(at / kDigitBits)] >> (at % kDigitBits) & 1U);
  }
  bool any_below(int at) const {
    for (int i = 0; i < at; ++i)
      if (bit(i)) return true;
    return false;
  }
};

double rounded(const Magnitude& number) {
  const int highest = number.highest_bit();
  const int lowest = std::max(0, highest - kMantissaBits + 1);
  std::uint64_t mantissa = 0;
  for (int at = highest; at >= lowest; --at) mantissa = mantissa << 1 | (number.bit(at) ? 1U : 0U);
  if (number.bit(lowest - 1) && ((mantissa & 1U) || number.any_below(lowest - 1))) ++mantissa;
  return std::ldexp(static_cast<double>(mantissa), lowest - 1074);
}

}  // namespace

void ExactSum::make_room(std::int32_t first, std::int32_t end) {
  auto& digits = held_.digits;
  if (digits.empty()) held_.first = first;
  if (first < held_.first) {
    digits.insert_zeros_in_front(static_cast<std::size_t>(held_.first - first));
    held_.first = first;
  }
  const auto wanted = static_cast<std::size_t>(end - held_.first);
  if (digits.size() < wanted) digits.resize(wanted);
}

void ExactSum::add(double value) {
  if (!std::isfinite(value)) {
    held_.special |= special_of(value);
    return;
  }
  if (value == 0) return;
  if (++additions_ >= kMostAdditions) carry();
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent > 0) mantissa |= std::uint64_t{1} << 52;
  const int position = std::max(exponent, 1) - 1;  // of the lowest bit, from 2^-1074
  const int first = position / kDigitBits, shift = position % kDigitBits;
  make_room(first, first + 3);
  const auto at = static_cast<std::size_t>(first - held_.first);
  const auto low = static_cast<std::uint64_t>(kDigitMask);
  const std::uint64_t middle = shift ? mantissa >> (kDigitBits - shift) : mantissa >> kDigitBits;
  const std::int64_t parts[] = {static_cast<std::int64_t>(mantissa << shift & low),
                                static_cast<std::int64_t>(middle & low),
                                static_cast<std::int64_t>(shift ? middle >> kDigitBits : 0)};
  for (std::size_t i = 0; i < 3; ++i) held_.digits[at + i] += value < 0 ? -parts[i] : parts[i];
}

void ExactSum::add(const ExactSum& other) {
  if (other.additions_ >= kMostAdditions / 2) return add_digits(other.digits());
  add_digits(other.held_, other.additions_);
}

// No digit of theirs is larger than so many numbers make it, and one more.
void ExactSum::add_digits(const Digits& theirs, std::uint32_t additions) {
  held_.special |= theirs.special;
  if (theirs.digits.empty()) return;
  if (additions_ + additions + 1 >= kMostAdditions) carry();
  additions_ += additions + 1;
  make_room(theirs.first, theirs.first + static_cast<std::int32_t>(theirs.digits.size()));
  const auto at = static_cast<std::size_t>(theirs.first - held_.first);
  for (std::size_t i = 0; i < theirs.digits.size(); ++i) held_.digits[at + i] += theirs.digits[i];
}

void ExactSum::carry() {
  std::int64_t over = 0;
  auto& digits = held_.digits;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::int64_t sum = digits[i] + over;
    over = sum >> kDigitBits;
    digits[i] = sum & kDigitMask;
  }
  if (over) digits.push_back(over);
  while (!digits.empty() && digits.back() == 0) digits.pop_back();
  const auto used = std::find_if(digits.begin(), digits.end(), [](auto each) { return each != 0; });
  held_.first = digits.empty() ? 0 : held_.first + static_cast<std::int32_t>(used - digits.begin());
  digits.erase_in_front(static_cast<std::size_t>(used - digits.begin()));
  // A negative number has -1 above all others; -1 with the digit below is that digit less 2^32.
  while (digits.size() > 1 && digits.back() == -1) {
    digits.pop_back();
    digits.back() -= std::int64_t{1} << kDigitBits;
  }
  additions_ = 0;
}

ExactSum::Digits ExactSum::digits() const {
  ExactSum copy = *this;
  copy.carry();
  return copy.held_;
}

bool ExactSum::set(const Digits& digits) {
  const auto fits = [](std::int64_t digit) {
    return digit >= -kDigitMask - 1 && digit <= kDigitMask;
  };
  if (digits.first < 0 || digits.special > (kNan | kPlus | kMinus) ||
      digits.digits.size() > static_cast<std::size_t>(kMostDigits) ||
      digits.first > kMostDigits - static_cast<std::int32_t>(digits.digits.size()) ||
      !std::all_of(digits.digits.begin(), digits.digits.end(), fits))
    return false;
  held_ = digits;
  additions_ = 1;
  return true;
}

double ExactSum::value() const {
  Digits carried = digits();
  if (carried.special) return special_value(carried.special);
  if (carried.digits.empty()) return 0;
  const bool negative = carried.digits.back() < 0;
  if (negative) {
    for (std::int64_t& digit : carried.digits) digit = -digit;
    ExactSum positive;
    positive.held_ = carried;
    carried = positive.digits();
  }
  Magnitude number{std::vector<std::uint32_t>(static_cast<std::size_t>(carried.first), 0)};
  for (const std::int64_t digit : carried.digits)
    number.digits.push_back(static_cast<std::uint32_t>(digit));
  const double value = rounded(number);
  return negative ? -value : value;
}

}  // namespace leat::comm
