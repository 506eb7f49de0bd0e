// SPDX-License-Identifier: Apache-2.0
// Files that a user names, to be read whole, whatever they turn out to be.
#pragma once

#include <string>

#include "lib/base/status.hpp"

namespace leat::os {

/// The text of a file. Why not for what is no file, as a pipe, which would let us wait, and /dev/zero, which has no end.
Result<std::string> text_of_file(const std::string& path);

}  // namespace leat::os
