// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes, times and lists in words for messages and screens, and the nearest name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

// Small helpers for sentences.

/// "a, b" of a and b.
inline std::string joined(const std::vector<std::string>& items, const char* between) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : between) + item;
  return text;
}

/// "1 rank", "2 ranks".
inline std::string counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Letters of either case are the same: "REAL*8" is "real*8".
bool is_same_word(std::string_view a, std::string_view b) noexcept;

/// FNV-1a, 64 bits, of any bytes; `hash`: of those before them. Source: Fowler, Noll, Vo,
/// draft-eastlake-fnv.
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325) {
  for (const char each : bytes) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return hash;
}

// Sizes: rounded, and in words for messages and screens.

/// "320 B", "1.5 GiB", "64 MiB": in powers of 1024, with a decimal where it says something.
std::string format_bytes(std::uint64_t bytes);

/// The next multiple of `unit` that `bytes` fit into.
constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Times in words, for messages and screens.

/// "0.25 ns", "3.50 us", "41.2 ms", "12.1 s", "6 min 3 s", "2 h 5 min": three digits.
std::string format_seconds(double seconds);

// Lists of numbers as people write them.

/// "0-3,7" of numbers in ascending order.
std::string range_text(const std::vector<int>& numbers);

// "Did you mean": the nearest of the names that exist.

/// Edits (insert, delete, replace, swap of neighbours) that turn one name into the other; case
/// counts half.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name nearest to `name`: near enough to be a slip of the pen, else the only one that begins
/// with it or is its beginning ("warn" and "warning"); an empty string when there is none.
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);

/// `; did you mean "cells"?`, or `; there are: "a", "b", ...` when nothing is near, or "" when
/// there is no name at all.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

}  // namespace leat
