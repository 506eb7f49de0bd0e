// SPDX-License-Identifier: Apache-2.0
#include "lib/model/units.hpp"

#include <charconv>
#include <cstdio>

namespace leat::model {
namespace {

template <class Number>
struct Unit {
  std::string_view name;
  Number factor;
};

constexpr Unit<std::uint64_t> kSizes[] = {
    {"B", 1},      {"KiB", 1u << 10}, {"MiB", 1u << 20},     {"GiB", 1u << 30},
    {"KB", 1'000}, {"MB", 1'000'000}, {"GB", 1'000'000'000},
};

constexpr Unit<double> kTimes[] = {{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};

// Reads the number at the front of `text` and the unit that is the rest.
template <class Number, std::size_t N>
std::optional<Unit<Number>> read(std::string_view text, const Unit<Number> (&units)[N],
                                 Number& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  for (const Unit<Number>& unit : units) {
    if (unit.name == text) return unit;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0, bytes = 0;
  const auto unit = read(text, kSizes, number);
  if (!unit || __builtin_mul_overflow(number, unit->factor, &bytes)) return std::nullopt;
  return bytes;
}

std::optional<double> parse_duration(std::string_view text) {
  double number = 0;
  const auto unit = read(text, kTimes, number);
  if (!unit || number < 0) return std::nullopt;
  return number * unit->factor;
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < std::size(kNames); ++unit) value /= 1024;
  char text[32];
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  std::snprintf(text, sizeof text, whole || value >= 100 ? "%.0f %s" : "%.1f %s", value,
                kNames[unit]);
  return text;
}

}  // namespace leat::model
