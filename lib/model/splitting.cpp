// SPDX-License-Identifier: Apache-2.0
#include "lib/model/splitting.hpp"

#include <cmath>
#include <cstdio>

namespace leat::model {
namespace {

constexpr const char* kSplitInstead =
    "; write iterations like \"1000\", or a time of the simulation like \"6 h\", \"1 mo\" or "
    "\"1 y\"";

std::string why_no_split(const Every& every) {
  if (every.clock == Every::Clock::wall)
    return "servers, and runs that go on, do not have the same clock on the wall";
  if (every.clock == Every::Clock::first || is_at_end(every)) return "that is no length of a file";
  if (every.phases.size() > 1) return "all files are equally long";
  return "";
}

std::string_view without_every(std::string_view text) {
  constexpr std::string_view kWord = "every ";
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  text.remove_prefix(first);
  if (text.starts_with(kWord)) text.remove_prefix(kWord.size());
  return text;
}

// At least so many digits that names are in the order of their numbers.
std::string number_name(std::int64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, number < 0 ? "-%06lld" : "%06lld",
                static_cast<long long>(number < 0 ? -number : number));
  return text;
}

bool is_whole_days(const Period& period) {
  constexpr double kDay = 86400;
  const std::optional<double> seconds = seconds_of(period);
  return seconds && std::fmod(*seconds, kDay) == 0;
}

std::string date_name(const Date& date, const Period& period) {
  const bool is_month = period.unit->months != 0,
             is_year = is_month && period.unit->months % 12 == 0;
  char text[64];
  int length = std::snprintf(text, sizeof text, "%04lld", static_cast<long long>(date.year));
  const auto add = [&](const char* format, int number) {
    length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), format,
                            number);
  };
  if (is_year) return text;
  add("-%02d", date.month);
  if (is_month) return text;
  add("-%02d", date.day);
  if (is_whole_days(period) && date.second == 0) return text;
  constexpr int kHour = 3600, kMinute = 60, kThousand = 1000;
  add("T%02d", date.second / kHour);
  add("%02d", date.second / kMinute % kMinute);
  add("%02d", date.second % kMinute);
  if (date.fraction > 0) add("-%03d", static_cast<int>(date.fraction * kThousand));
  return text;
}

}  // namespace

Result<Every> parse_split(std::string_view text) {
  text = without_every(text);
  if (text.empty()) return Error{Status::ERROR_CONFIG, std::string("it is empty") + kSplitInstead};
  Result<Every> every = parse_every(text);
  if (!every) {
    const std::string& why = every.error().message;
    return Error{Status::ERROR_CONFIG, why.substr(0, why.find("; expected")) + kSplitInstead};
  }
  const std::string why = why_no_split(*every);
  if (why.empty()) return every;
  return Error{Status::ERROR_CONFIG, "\"" + to_text(*every) + "\": " + why + kSplitInstead};
}

Splitting::Splitting(const Every& split, const Calendar& calendar)
    : period_(split.phases.front().period),
      calendar_(calendar),
      marks_(split, calendar, 0),
      iterations_(iterations_of(split)) {}

SplitPeriod Splitting::of_iteration(std::int64_t iteration) const {
  const std::int64_t number = iteration / iterations_;
  return {static_cast<double>(number * iterations_), number_name(number)};
}

std::optional<SplitPeriod> Splitting::of_time(double time, double step) const {
  return at(marks_.reached(time, step));
}

std::optional<SplitPeriod> Splitting::of_window(double begin, double end) const {
  return at(marks_.window_of(begin, end).begin);
}

std::optional<SplitPeriod> Splitting::at(double mark) const {
  if (!std::isfinite(mark)) return std::nullopt;
  return SplitPeriod{mark, name_of(mark)};
}

// Without dates marks are multiples of the period.
std::string Splitting::name_of(double mark) const {
  if (const std::optional<Date> date = calendar_.date_of(mark)) return date_name(*date, period_);
  const double unit = calendar_.seconds_per_unit().value_or(1);
  return number_name(std::llround(mark * unit / seconds_of(period_).value_or(1)));
}

}  // namespace leat::model
