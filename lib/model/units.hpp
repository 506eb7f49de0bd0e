// SPDX-License-Identifier: Apache-2.0
// Sizes and times with their units, as they stand in the XML.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace leat::model {

/// Bytes of "512MiB": a whole number and one of B, KiB, MiB, GiB, KB, MB, GB. Nothing for other
/// text and beyond 64 bits.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Seconds of "1.5min": a number and one of ms, s, min, h.
std::optional<double> parse_duration(std::string_view text);

}  // namespace leat::model
