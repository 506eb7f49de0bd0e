// SPDX-License-Identifier: Apache-2.0
// What becomes of values where a store puts them down: whole numbers with a scale and an offset, as the CF conventions pack data, or
// numbers with fewer bits. In memory they stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/scalar.hpp"

namespace leat {

// Options of a variable, called as the attributes of the XML.
inline constexpr char kStoreType[] = "store-type";
inline constexpr char kScale[] = "scale";
inline constexpr char kOffset[] = "offset";
inline constexpr char kKeepBits[] = "keep-bits";

/// What storing did to values.
struct StoringLoss {
  std::int64_t stored = 0;     ///< values that are there, more or less
  std::int64_t too_large = 0;  ///< beyond what the type can have,
  std::int64_t not_a_number =
      0;             ///< and those that are none: missing, both, where whole numbers are stored
  double error = 0;  ///< the largest difference between what is stored and what was given

  void add(const StoringLoss& other);
};

struct StoredAs {
  ScalarType type = ScalarType::float64;
  double scale = 0;  ///< 0: not packed
  double offset = 0;
  int keep_bits = 0;  ///< of the mantissa; 0: all

  bool is_packed() const noexcept { return scale != 0; }
  /// False: as they are in memory.
  bool is_any() const noexcept { return is_packed() || keep_bits > 0; }
  /// One of the options above; others are not looked at.
  void take(std::string_view option, std::string_view value);

  /// Of what is packed: the least and the greatest value that fit. The missing value of the type is beyond them.
  double low() const noexcept;
  double high() const noexcept;
  /// "in steps of 0.01: -54.52 to 600.82 fit"; "rounded to 12 bits of the mantissa".
  std::string in_words() const;

  /// Values from number `first` on of an array of this type, to the same places of one of `type`; to nowhere where `to` is null: the
  /// error is not known then.
  StoringLoss store(ScalarType from, const void* values, std::int64_t first, std::int64_t count,
                    void* to) const;
};

/// Of a list of options, whose names and values are texts.
template <class Options>
StoredAs stored_as(const Options& options) {
  StoredAs as;
  for (const auto& each : options) as.take(each.name, each.value);
  return as;
}

/// Whole numbers of up to 32 bits: doubles have all of them.
bool can_pack_in(ScalarType type) noexcept;

/// "0.01", "600.82": as short as tells it from others of 10 digits.
std::string short_number(double value);

/// Calls use(first, count) for rows of elements of an array, those that are no ghosts.
template <class Use>
void each_own_row(std::size_t dims, const std::int64_t* extent, const std::int64_t* low,
                  const std::int64_t* high, const Use& use) {
  std::int64_t at[kMaxDims] = {};
  std::int64_t count = 1;
  std::size_t joined = dims;  // from which on rows lie behind each other
  while (joined > 0) {
    const std::int64_t own = extent[joined - 1] - low[joined - 1] - high[joined - 1];
    if (own <= 0) return;
    --joined;
    count *= own;
    if (own != extent[joined]) break;
  }
  for (std::size_t d = 0; d < joined; ++d) {
    if (extent[d] - low[d] - high[d] <= 0) return;
  }
  for (bool more = true; more;) {
    std::int64_t first = 0;
    for (std::size_t d = 0; d < dims; ++d)
      first = first * extent[d] + (d <= joined ? low[d] + at[d] : 0);
    use(first, count);
    more = false;
    for (std::size_t d = joined; d-- > 0 && !more;) {
      more = ++at[d] < extent[d] - low[d] - high[d];
      if (!more) at[d] = 0;
    }
  }
}

}  // namespace leat
