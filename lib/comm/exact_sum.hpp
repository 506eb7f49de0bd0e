// SPDX-License-Identifier: Apache-2.0
// Sums of doubles that are the same, bit for bit, in whatever order they are made: nothing is rounded
// before the end.
#pragma once

#include <cstdint>
#include <vector>

namespace leat::comm {

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
    std::vector<std::int64_t> digits{};
    std::uint8_t special = 0;  ///< 1: NaN, 2: +infinity, 4: -infinity
    bool operator==(const Digits&) const = default;
  };
  Digits digits() const;
  /// False: no sum has these.
  bool set(const Digits& digits);

  bool operator==(const ExactSum& other) const { return digits() == other.digits(); }

 private:
  void make_room(std::int32_t first, std::int32_t end);
  void carry();

  Digits held_;
  std::uint32_t additions_ = 0;  // since the last carry
};

}  // namespace leat::comm
