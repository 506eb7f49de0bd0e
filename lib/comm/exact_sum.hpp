// SPDX-License-Identifier: Apache-2.0
// Sums of doubles that are the same, bit for bit, in whatever order they are made: nothing is rounded
// before the end.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace leat::comm {

// Few are held in place: sums of numbers of about one size need no memory of their own.
class DigitList {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t* begin() { return is_in_place() ? few_.data() : many_.data(); }
  const std::int64_t* begin() const { return is_in_place() ? few_.data() : many_.data(); }
  std::int64_t* end() { return begin() + size_; }
  const std::int64_t* end() const { return begin() + size_; }
  std::int64_t& operator[](std::size_t at) { return begin()[at]; }
  std::int64_t operator[](std::size_t at) const { return begin()[at]; }
  std::int64_t& back() { return begin()[size_ - 1]; }
  std::int64_t back() const { return begin()[size_ - 1]; }
  void pop_back() { --size_; }
  void push_back(std::int64_t digit) {
    resize(size_ + 1);
    back() = digit;
  }
  /// New ones are 0. Once there are many they stay where they are, however few become of them.
  void resize(std::size_t size) {
    if (is_in_place() && size > few_.size()) {
      many_.assign(size, 0);
      std::copy_n(few_.begin(), size_, many_.begin());
    } else if (many_.size() < size && !is_in_place()) {
      many_.resize(size);
    }
    if (size > size_) std::fill(begin() + size_, begin() + size, 0);
    size_ = static_cast<std::uint32_t>(size);
  }
  void insert_zeros_in_front(std::size_t count) {
    const std::size_t before = size_;
    resize(before + count);
    std::copy_backward(begin(), begin() + before, end());
    std::fill_n(begin(), count, 0);
  }
  void erase_in_front(std::size_t count) {
    std::copy(begin() + count, end(), begin());
    size_ -= static_cast<std::uint32_t>(count);
  }
  bool operator==(const DigitList& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  bool is_in_place() const { return many_.empty(); }

  std::array<std::int64_t, 6> few_{};
  std::vector<std::int64_t> many_{};  // not empty: all are in it
  std::uint32_t size_ = 0;
};

// A long integer in units of 2^-1074, the least positive double, cut into digits of 32 bits as
// Kulisch's accumulator is (U. Kulisch, "Computer Arithmetic and Validity", 2008). Only the digits
// that are in use are held. A digit is held in 64 bits, so that 2^30 additions need no carry.
class ExactSum {
 public:
  ExactSum() = default;
  explicit ExactSum(double value) { add(value); }

  void add(double value);
  void add(const ExactSum& other);
  /// The nearest double, ties to even; infinite beyond all of them. NaN and infinities that were
  /// added give what IEEE 754 says, as if one had added them to a double.
  double value() const;

  /// Digits from the lowest that is not zero, all from 0 to 2^32 - 1 but the last, which has the
  /// sign. The same for equal sums.
  struct Digits {
    std::int32_t first = 0;
    DigitList digits{};
    std::uint8_t special = 0;  ///< 1: NaN, 2: +infinity, 4: -infinity
    bool operator==(const Digits&) const = default;
  };
  Digits digits() const;
  /// False: no sum has these.
  bool set(const Digits& digits);

  bool operator==(const ExactSum& other) const { return digits() == other.digits(); }

 private:
  void make_room(std::int32_t first, std::int32_t end);
  void add_digits(const Digits& theirs, std::uint32_t additions = 0);
  void carry();

  Digits held_;
  std::uint32_t additions_ = 0;  // since the last carry
};

}  // namespace leat::comm
