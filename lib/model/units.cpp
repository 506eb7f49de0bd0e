// SPDX-License-Identifier: Apache-2.0
#include "lib/model/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <regex>
#include <string_view>

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

namespace {

// std::regex goes deeper with each character.
constexpr std::size_t kLongestUnit = 100;
constexpr int kFebruary = 2;

constexpr std::array kUnits{"microsecond",  "microseconds", "microsec", "millisecond",
                            "milliseconds", "millisec",     "msec",     "s",
                            "sec",          "second",       "seconds",  "min",
                            "minute",       "minutes",      "h",        "hr",
                            "hour",         "hours",        "d",        "day",
                            "days"};

// "standard" is Julian up to 1582.
bool is_leap(int year, const std::string& calendar) {
  if (calendar == "noleap" || calendar == "365_day") return false;
  if (calendar == "all_leap" || calendar == "366_day") return true;
  const bool is_julian = calendar == "julian" || (calendar == "standard" && year <= 1582);
  return year % 4 == 0 && (is_julian || year % 100 != 0 || year % 400 == 0);
}

int days_of(int month, int year, const std::string& calendar) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (calendar == "360_day") return 30;
  return kDays[month - 1] + (month == kFebruary && is_leap(year, calendar) ? 1 : 0);
}

bool is_unit(const std::string& word, const std::string& calendar) {
  return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end() ||
         (word == "months" && calendar == "360_day");
}

}  // namespace

std::string why_no_date(const std::string& unit, const std::string& calendar) {
  static const std::regex kSince("since", std::regex::icase);
  static const std::regex kDate(
      R"((\w+) +since +(\d{1,4})-(\d{1,2})-(\d{1,2}))"
      R"((?:[T ](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d+)?)?)?)? *(?:Z|UTC|[+-]\d{1,2}(?::\d{2})?)?)");
  constexpr const char* kLike = "expected a date to count from, like \"days since 2000-01-01\"";
  if (unit.size() > kLongestUnit) return "a unit has 100 characters at most";
  if (!std::regex_search(unit, kSince)) return "";
  std::smatch found;
  if (!std::regex_match(unit, found, kDate)) return kLike;
  if (!is_unit(found[1], calendar))
    return "a time is counted in seconds, minutes, hours or days, not in \"" + found[1].str() +
           "\"";
  const auto number = [&](std::size_t group) {
    return found[group].matched ? std::stoi(found[group]) : 0;
  };
  const int year = number(2), month = number(3), day = number(4);
  const bool is_day =
      year > 0 && month >= 1 && month <= 12 && day >= 1 && day <= days_of(month, year, calendar);
  if (!is_day) return "there is no such day in the calendar \"" + calendar + "\"";
  return number(5) < 24 && number(6) < 60 && number(7) < 60 ? "" : "there is no such time of day";
}

}  // namespace leat::model
