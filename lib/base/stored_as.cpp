// SPDX-License-Identifier: Apache-2.0
#include "lib/base/stored_as.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <type_traits>

#include "lib/base/number_types.hpp"

namespace leat {
namespace {

constexpr std::int64_t kAtOnce = 1024;
// What is added and taken away again leaves a whole number, the nearest, ties to even, of what is less than 2^51.
constexpr double kRounder = 6755399441055744.0;

// The missing value is the least signed and the greatest unsigned number.
struct Codes {
  double least = 0, greatest = 0, missing = 0;
};

Codes codes_of(ScalarType type) {
  Codes codes;
  with_number_type(type, [&](auto number) {
    using Number = decltype(number);
    const auto least = static_cast<double>(std::numeric_limits<Number>::lowest());
    const auto greatest = static_cast<double>(std::numeric_limits<Number>::max());
    const bool is_signed = std::numeric_limits<Number>::is_signed;
    codes = {is_signed ? least + 1 : least, is_signed ? greatest : greatest - 1,
             is_signed ? least : greatest};
  });
  return codes;
}

struct Counts {
  std::int64_t stored = 0, nan = 0;
  double error = 0;
};

template <class Number>
Counts pack(const StoredAs& as, const Codes& codes, const double* values, std::int64_t count,
            Number* to) {
  Counts counts;
  for (std::int64_t i = 0; i < count; ++i) {
    const double code = ((values[i] - as.offset) / as.scale + kRounder) - kRounder;
    const bool fits = code >= codes.least && code <= codes.greatest;
    if (to) to[i] = static_cast<Number>(fits ? code : codes.missing);
    counts.stored += fits;
    counts.nan += std::isnan(values[i]);
    const double error = std::abs(code * as.scale + as.offset - values[i]);
    counts.error = fits && error > counts.error ? error : counts.error;
  }
  return counts;
}

double rounded(double value, int dropped) {
  if (!std::isfinite(value)) return value;
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1), rest = (half << 1) - 1;
  const auto word = std::bit_cast<std::uint64_t>(value);
  return std::bit_cast<double>((word + half - 1 + (word >> dropped & 1)) & ~rest);
}

template <class Number>
Counts round(const StoredAs& as, const double* values, std::int64_t count, Number* to) {
  const int dropped = std::numeric_limits<double>::digits - 1 - as.keep_bits;
  Counts counts;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<Number>(dropped > 0 ? rounded(values[i], dropped) : values[i]);
    if (to) to[i] = value;
    const bool is_lost = std::isinf(value) && !std::isinf(values[i]);
    counts.stored += !is_lost;
    const double error = std::abs(static_cast<double>(value) - values[i]);
    counts.error = !is_lost && error > counts.error ? error : counts.error;
  }
  return counts;
}

Counts store_as(const StoredAs& as, const Codes& codes, const double* values, std::int64_t count,
                void* to, std::int64_t first) {
  Counts counts;
  with_number_type(as.type, [&](auto number) {
    auto* const put = to ? static_cast<decltype(number)*>(to) + first : nullptr;
    if constexpr (std::is_floating_point_v<decltype(number)>)
      counts = round(as, values, count, put);
    else
      counts = pack(as, codes, values, count, put);
  });
  return counts;
}

// What lies between two values that fit does, too.
bool all_fit(const StoredAs& as, const Codes& codes, const double* values, std::int64_t count) {
  double ends[] = {values[0], values[0]};
  bool any_nan = false;
  for (std::int64_t i = 0; i < count; ++i) {
    ends[0] = values[i] < ends[0] ? values[i] : ends[0];
    ends[1] = values[i] > ends[1] ? values[i] : ends[1];
    any_nan |= std::isnan(values[i]);
  }
  return !any_nan && store_as(as, codes, ends, 2, nullptr, 0).stored == 2;
}

double number_in(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

void StoringLoss::add(const StoringLoss& other) {
  stored += other.stored;
  too_large += other.too_large;
  not_a_number += other.not_a_number;
  error = std::max(error, other.error);
}

void StoredAs::take(std::string_view option, std::string_view value) {
  if (option == kStoreType) type = scalar_from_name(value).value_or(type);
  if (option == kScale) scale = number_in(value);
  if (option == kOffset) offset = number_in(value);
  if (option == kKeepBits) keep_bits = static_cast<int>(number_in(value));
}

double StoredAs::low() const noexcept {
  const Codes codes = codes_of(type);
  return std::min(codes.least * scale, codes.greatest * scale) + offset;
}

double StoredAs::high() const noexcept {
  const Codes codes = codes_of(type);
  return std::max(codes.least * scale, codes.greatest * scale) + offset;
}

std::string StoredAs::in_words() const {
  if (is_packed())
    return "in steps of " + short_number(std::abs(scale)) + ": " + short_number(low()) + " to " +
           short_number(high()) + " fit";
  return "rounded to " + std::to_string(keep_bits) + " bits of the mantissa";
}

StoringLoss StoredAs::store(ScalarType from, const void* values, std::int64_t first,
                            std::int64_t count, void* to) const {
  StoringLoss loss;
  const Codes codes = codes_of(type);
  double room[kAtOnce];
  for (std::int64_t done = 0; done < count; done += kAtOnce) {
    const std::int64_t now = std::min(kAtOnce, count - done), at = first + done;
    with_number_type(from, [&](auto number) {
      const auto* const given = static_cast<const decltype(number)*>(values) + at;
      for (std::int64_t i = 0; i < now; ++i) room[i] = static_cast<double>(given[i]);
    });
    if (!to && all_fit(*this, codes, room, now)) {
      loss.stored += now;
      continue;
    }
    const Counts counts = store_as(*this, codes, room, now, to, at);
    loss.add({counts.stored, now - counts.stored - counts.nan, counts.nan, counts.error});
  }
  return loss;
}

bool can_pack_in(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::int8:
    case ScalarType::int16:
    case ScalarType::int32:
    case ScalarType::uint8:
    case ScalarType::uint16:
    case ScalarType::uint32:
      return true;
    default:
      return false;
  }
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

}  // namespace leat
