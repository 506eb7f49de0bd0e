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

struct SizeUnit {
  std::string_view word;
  std::uint64_t bytes;
};

constexpr SizeUnit kSizes[] = {
    {"B", 1},      {"KiB", 1u << 10}, {"MiB", 1u << 20},     {"GiB", 1u << 30},
    {"KB", 1'000}, {"MB", 1'000'000}, {"GB", 1'000'000'000},
};

// The word behind the number at the front of `text`.
template <class Number>
std::optional<std::string_view> read_leading_number(std::string_view text, Number* number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), *number);
  if (fault != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0, bytes = 0;
  const auto word = read_leading_number(text, &number);
  for (const SizeUnit& unit : kSizes) {
    if (word != unit.word) continue;
    if (__builtin_mul_overflow(number, unit.bytes, &bytes)) return std::nullopt;
    return bytes;
  }
  return std::nullopt;
}

namespace {

// Where a word may stand: everywhere, before "since" too, or not there.
struct TimeWord {
  std::string_view word;
  TimeUnit unit;
  bool has_dates;
};

constexpr TimeUnit kMicrosecondUnit{1, 0}, kMillisecondUnit{1'000, 0}, kSecondUnit{1'000'000, 0},
    kMinuteUnit{60'000'000, 0}, kHourUnit{3'600'000'000, 0}, kDayUnit{86'400'000'000, 0},
    kMonthUnit{0, 1}, kYearUnit{0, 12};
constexpr std::size_t kShortWords = 7;

constexpr TimeWord kTimeWords[] = {
    {"ms", kMillisecondUnit, false},
    {"s", kSecondUnit, true},
    {"min", kMinuteUnit, true},
    {"h", kHourUnit, true},
    {"d", kDayUnit, true},
    {"mo", kMonthUnit, false},
    {"y", kYearUnit, false},
    {"microsec", kMicrosecondUnit, true},
    {"microsecond", kMicrosecondUnit, true},
    {"microseconds", kMicrosecondUnit, true},
    {"millisec", kMillisecondUnit, true},
    {"msec", kMillisecondUnit, true},
    {"millisecond", kMillisecondUnit, true},
    {"milliseconds", kMillisecondUnit, true},
    {"sec", kSecondUnit, true},
    {"second", kSecondUnit, true},
    {"seconds", kSecondUnit, true},
    {"minute", kMinuteUnit, true},
    {"minutes", kMinuteUnit, true},
    {"hr", kHourUnit, true},
    {"hour", kHourUnit, true},
    {"hours", kHourUnit, true},
    {"day", kDayUnit, true},
    {"days", kDayUnit, true},
    {"month", kMonthUnit, false},
    {"months", kMonthUnit, false},
    {"yr", kYearUnit, false},
    {"year", kYearUnit, false},
    {"years", kYearUnit, false},
};

const TimeWord* find_time_word(std::string_view word) {
  const auto* const found = std::find_if(std::begin(kTimeWords), std::end(kTimeWords),
                                         [&](const TimeWord& each) { return each.word == word; });
  return found == std::end(kTimeWords) ? nullptr : found;
}

// Months of 360_day have a length, and cftime counts in them.
bool counts_months(std::string_view word, CalendarKind kind) {
  return word == "months" && kind == CalendarKind::days_360;
}

}  // namespace

std::optional<double> parse_duration(std::string_view text) {
  double number = 0;
  const auto word = read_leading_number(text, &number);
  if (!word || number < 0) return std::nullopt;
  constexpr double kMicroseconds = 1e6;
  constexpr std::size_t kWordsOfDurations = 4;
  for (std::size_t i = 0; i < kWordsOfDurations; ++i) {
    const auto& [known, unit, has_dates] = kTimeWords[i];
    if (word == known) return number * (static_cast<double>(unit.microseconds) / kMicroseconds);
  }
  return std::nullopt;
}

std::optional<TimeUnit> time_unit(std::string_view word) {
  const TimeWord* const found = find_time_word(word);
  return found ? std::optional(found->unit) : std::nullopt;
}

std::string_view short_word(const TimeUnit& unit) {
  for (std::size_t i = 0; i < kShortWords; ++i) {
    if (kTimeWords[i].unit == unit) return kTimeWords[i].word;
  }
  return "";
}

std::vector<std::string> time_unit_words() {
  std::vector<std::string> words;
  for (const TimeWord& each : kTimeWords) {
    if (!short_word(each.unit).empty()) words.emplace_back(each.word);
  }
  return words;
}

namespace {

// std::regex goes deeper with each character.
constexpr std::size_t kLongestUnit = 100;
constexpr int kSecondsOfMinute = 60, kSecondsOfHour = 3600;

const std::regex& date_pattern() {
  static const std::regex kDate(
      R"((\w+) +since +(\d{1,4})-(\d{1,2})-(\d{1,2}))"
      R"((?:[T ](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?)?)? *(?:Z|UTC|([+-])(\d{1,2})(?::(\d{2}))?)?)");
  return kDate;
}

// The groups of date_pattern().
enum Group {
  kWord = 1,
  kYearOf,
  kMonthOf,
  kDayOf,
  kHours,
  kMinutes,
  kSeconds,
  kFraction,
  kSign,
  kZoneHours,
  kZoneMinutes
};

int number_of(const std::smatch& found, Group group) {
  return found[group].matched ? std::stoi(found[group]) : 0;
}

std::string why_no_such_date(const std::smatch& found, const Day& day, CalendarKind kind,
                             const std::string& calendar) {
  const std::string word = found[kWord];
  const TimeWord* const known = find_time_word(word);
  if (!(known && known->has_dates) && !counts_months(word, kind))
    return "a time is counted in seconds, minutes, hours or days, not in \"" + word + "\"";
  if (day.year < 1 || !is_day(kind, day))
    return "there is no such day in the calendar \"" + calendar + "\"";
  const bool is_time = number_of(found, kHours) < 24 && number_of(found, kMinutes) < 60 &&
                       number_of(found, kSeconds) < 60;
  return is_time ? "" : "there is no such time of day";
}

// The day, and the second of it in UTC.
void take_date(const std::smatch& found, const Day& day, TimeReference* reference) {
  reference->day = day;
  const auto seconds = [&](Group hours, Group minutes) {
    return number_of(found, hours) * kSecondsOfHour + number_of(found, minutes) * kSecondsOfMinute;
  };
  const int zone = (found[kSign] == "-" ? -1 : 1) * seconds(kZoneHours, kZoneMinutes);
  reference->second = seconds(kHours, kMinutes) + number_of(found, kSeconds) - zone;
  constexpr std::size_t kDigits = 6;
  std::string fraction = found[kFraction];
  fraction.resize(kDigits, '0');
  reference->microsecond = std::stoi(fraction);
}

}  // namespace

TimeReference read_time_unit(const std::string& unit, const std::string& calendar) {
  static const std::regex kSince("since", std::regex::icase);
  TimeReference reference;
  if (unit.size() > kLongestUnit) {
    reference.problem = "a unit has 100 characters at most";
    return reference;
  }
  const CalendarKind kind = calendar_kind(calendar);
  std::string word = unit;
  std::smatch found;
  if (std::regex_match(unit, found, date_pattern())) {
    const Day day{number_of(found, kYearOf), number_of(found, kMonthOf), number_of(found, kDayOf)};
    word = found[kWord];
    reference.problem = why_no_such_date(found, day, kind, calendar);
    if (reference.problem.empty()) take_date(found, day, &reference);
  } else if (std::regex_search(unit, kSince)) {
    reference.problem = "expected a date to count from, like \"days since 2000-01-01\"";
  }
  constexpr std::int64_t kDaysOfMonth = 30;
  reference.unit = counts_months(word, kind) ? TimeUnit{kDaysOfMonth * kDayUnit.microseconds, 0}
                                             : time_unit(word);
  return reference;
}

std::string why_no_date(const std::string& unit, const std::string& calendar) {
  return read_time_unit(unit, calendar).problem;
}

}  // namespace leat::model
