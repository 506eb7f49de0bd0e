// SPDX-License-Identifier: Apache-2.0
// Reads a whole file of XML, with words for every way in which that fails.
#pragma once

#include <string>

#include "lib/base/status.hpp"

namespace leat::model {

/// A configuration is kilobytes; what is larger was named by mistake (/dev/zero, an output file).
inline constexpr std::size_t kMaxSourceBytes = 16u << 20;

/// The bytes of `path`. The message of an error says why, without the path: "no such file".
Result<std::string> read_source(const std::string& path);

}  // namespace leat::model
