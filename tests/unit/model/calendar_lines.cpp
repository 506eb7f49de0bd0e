// SPDX-License-Identifier: Apache-2.0
// calendar_lines UNIT CALENDAR [EVERY [ORIGIN]]: answers each line of standard input, for test_calendar.py.
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>

#include "lib/model/calendar.hpp"
#include "lib/model/marks.hpp"
#include "lib/model/units.hpp"

using namespace leat::model;  // NOLINT(check): a program of one test

namespace {

void print(std::optional<double> time) {
  std::printf("%.17g\n", time.value_or(std::numeric_limits<double>::quiet_NaN()));
}

void print(const std::optional<Date>& date) {
  if (!date) {
    std::printf("none\n");
    return;
  }
  std::printf("%lld %d %d %d %.9f\n", static_cast<long long>(date->year), date->month, date->day,
              date->second, date->fraction);
}

Span span_of(const std::string& word) {
  if (word == "day") return Span::day;
  return word == "month" ? Span::month : Span::year;
}

struct Answers {
  Calendar calendar;
  Marks marks;

  bool answer(const std::string& verb, std::istringstream& words) const {
    double time = 0;
    std::int64_t months = 0;
    std::string span;
    Date date;
    if (verb == "date" && words >> time)
      print(calendar.date_of(time));
    else if (verb == "time" && words >> date.year >> date.month >> date.day >> date.second)
      print(calendar.time_of(date));
    else if (verb == "begin" && words >> span >> time)
      print(calendar.begin_of(span_of(span), time));
    else if (verb == "next" && words >> span >> time)
      print(calendar.next(span_of(span), time));
    else if (verb == "later" && words >> months >> time)
      print(calendar.months_later(time, months));
    else if (verb == "last" && words >> time)
      print(marks.last_at_or_before(time));
    else if (verb == "after" && words >> time)
      print(marks.next_after(time));
    else
      return false;
    return true;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string problem = why_no_date(argv[1], argv[2]);
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    return 1;
  }
  const auto every = parse_every(argc > 3 ? argv[3] : "1");
  if (!every) {
    std::fprintf(stderr, "%s\n", every.error().message.c_str());
    return 1;
  }
  const Calendar calendar(argv[1], argv[2]);
  const Answers answers{calendar, Marks(*every, calendar, argc > 4 ? std::stod(argv[4]) : 0)};
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (!answers.answer(verb, words)) {
      std::fprintf(stderr, "what is \"%s\"?\n", line.c_str());
      return 1;
    }
  }
  return 0;
}
