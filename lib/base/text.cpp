// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <iterator>

namespace leat {

std::string format_bytes(std::uint64_t bytes) {
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  constexpr double kRoundsUp = 1023.95;  // would be shown as 1024.0 of this unit
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= kRoundsUp && unit + 1 < std::size(kNames); ++unit) value /= 1024;
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  char text[32];
  std::snprintf(text, sizeof text, whole || value >= 100 ? "%.0f %s" : "%.1f %s", value,
                kNames[unit]);
  return text;
}

namespace {

std::string number(double value, const char* unit) {
  char text[32];
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit);
  return text;
}

std::string two(long long whole, const char* unit, long long part, const char* smaller) {
  std::string text = std::to_string(whole) + " " + unit;
  return part == 0 ? text : text + " " + std::to_string(part) + " " + smaller;
}

}  // namespace

std::string format_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-6) return number(seconds * 1e9, "ns");
  if (seconds < 0.9995e-3) return number(seconds * 1e6, "us");
  if (seconds < 0.9995) return number(seconds * 1e3, "ms");
  if (seconds < 119.5) return number(seconds, "s");
  const auto whole = static_cast<long long>(seconds + 0.5);  // libleat has no libm
  if (whole < 7200) return two(whole / 60, "min", whole % 60, "s");
  return two(whole / 3600, "h", whole % 3600 / 60, "min");
}

std::string range_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

namespace {

// Costs are counted in halves, so that a wrong case weighs less than a wrong letter.
constexpr std::size_t kFull = 2;
constexpr std::size_t kCase = 1;

int lower(char c) { return std::tolower(static_cast<unsigned char>(c)); }

std::size_t replace_cost(char a, char b) {
  if (a == b) return 0;
  return lower(a) == lower(b) ? kCase : kFull;
}

// Whether one begins with the other, whatever their case: "warn" and "warning", "HDF5" and "hdf5".
bool one_begins_the_other(std::string_view a, std::string_view b) {
  return is_same_word(a.substr(0, b.size()), b.substr(0, a.size()));
}

// The only one of the names that is a longer or shorter form of `name`.
std::string only_other_form(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t kLeast = 3;  // shorter beginnings say nothing
  std::string found;
  for (const std::string& candidate : names) {
    if (std::min(name.size(), candidate.size()) < kLeast) continue;
    if (!one_begins_the_other(name, candidate)) continue;
    if (!found.empty()) return "";
    found = candidate;
  }
  return found;
}

// Optimal string alignment distance, in halves. One row per letter of `a`, three rows kept.
std::size_t half_edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j * kFull;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i * kFull;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min(
          {last[j] + kFull, row[j - 1] + kFull, last[j - 1] + replace_cost(a[i - 1], b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + kFull);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

bool is_same_word(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  return (half_edits(a, b) + 1) / kFull;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& names) {
  // Any letter is one edit from any other: of one letter, only the case can be a slip.
  const std::size_t most =
      name.size() < 2 ? kCase : kFull * std::max<std::size_t>(1, name.size() / 3);
  std::string best;
  std::size_t best_edits = most + 1;
  for (const std::string& candidate : names) {
    const std::size_t edits = half_edits(name, candidate);
    if (edits < best_edits) {
      best_edits = edits;
      best = candidate;
    }
  }
  return best.empty() ? only_other_form(name, names) : best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  const std::string nearest = nearest_name(name, names);
  if (!nearest.empty()) return "; did you mean \"" + nearest + "\"?";
  constexpr std::size_t kMostListed = 8;
  std::string text = "; there are: ";
  for (std::size_t i = 0; i < std::min(names.size(), kMostListed); ++i) {
    text += (i ? ", \"" : "\"") + names[i] + "\"";
  }
  if (names.size() > kMostListed) text += ", ...";
  return text;
}

}  // namespace leat
