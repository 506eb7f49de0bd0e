// SPDX-License-Identifier: Apache-2.0
// How fast a disk takes data.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/status.hpp"

namespace leat::platform {

/// Bytes a second that a new file in this folder takes, until they are on the disk. So many bytes are
/// written; the file never has a name that stays.
Result<double> disk_speed(const std::string& folder, std::uint64_t bytes);

}  // namespace leat::platform
