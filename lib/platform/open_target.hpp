// SPDX-License-Identifier: Apache-2.0
// Files that a process has open, by what the system calls them there.
#pragma once

#include <string>

namespace leat::platform {

/// The path of a regular file that still has a name; "" for anything else. One that was made without
/// a name (O_TMPFILE) and got it later is "<folder>/#<number> (deleted)" to the system for good: its
/// folder knows better.
std::string file_at_target(const std::string& target);

}  // namespace leat::platform
