// SPDX-License-Identifier: Apache-2.0
#include "lib/model/units.hpp"

#include <charconv>

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

}  // namespace leat::model
