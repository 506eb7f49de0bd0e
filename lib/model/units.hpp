// SPDX-License-Identifier: Apache-2.0
// Sizes and times with their units, as they stand in the XML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat::model {

// Sizes and times with their units, as they stand in the XML.

/// Bytes of "512MiB": a whole number and one of B, KiB, MiB, GiB, KB, MB, GB. Nothing for other
/// text and beyond 64 bits.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Seconds of "1.5min": a number and one of ms, s, min, h.
std::optional<double> parse_duration(std::string_view text);

// The unit of a time: "s", or with a date to count from, "days since 2000-01-01".

/// "", or why readers of the file could not tell its dates. Without the word "since" there are none.
/// Source: CF Conventions 1.8, section 4.4, and what xarray and cftime 1.6 read of it.
std::string why_no_date(const std::string& unit, const std::string& calendar);

}  // namespace leat::model
