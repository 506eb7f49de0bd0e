// SPDX-License-Identifier: Apache-2.0
// Sizes and times with their units, as they stand in the XML, and the unit of the time of the simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/days.hpp"

namespace leat::model {

// Sizes and times with their units, as they stand in the XML.

/// Bytes of "512MiB": a whole number and one of B, KiB, MiB, GiB, KB, MB, GB. Nothing for other
/// text and beyond 64 bits.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Seconds of "1.5min": a number and one of ms, s, min, h.
std::optional<double> parse_duration(std::string_view text);

// Words for units of time.

/// The length of a unit: of fixed length, or months of a calendar.
struct TimeUnit {
  std::int64_t microseconds = 0;
  int months = 0;

  bool operator==(const TimeUnit&) const = default;
};

/// Of "min", "minutes", "mo", "year"; nothing for another word.
std::optional<TimeUnit> time_unit(std::string_view word);
/// The short word of a unit that has one: ms, s, min, h, d, mo, y.
std::string_view short_word(const TimeUnit& unit);
/// All words for units that have a short one; the first seven are those.
std::vector<std::string> time_unit_words();

// The unit of a time: "s", or with a date to count from, "days since 2000-01-01".

struct TimeReference {
  std::string problem;           ///< why readers of the file could not tell its dates, or ""
  std::optional<TimeUnit> unit;  ///< of a word that is known
  std::optional<Day> day;        ///< to count from; nothing without the word "since"
  std::int64_t second = 0;       ///< of that day in UTC, below 0 or beyond the day by its zone
  int microsecond = 0;
};

/// Source: CF Conventions 1.8, section 4.4, and what xarray and cftime 1.6 read of it.
TimeReference read_time_unit(const std::string& unit, const std::string& calendar);

/// The `problem` of that.
std::string why_no_date(const std::string& unit, const std::string& calendar);

}  // namespace leat::model
