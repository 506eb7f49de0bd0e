// SPDX-License-Identifier: Apache-2.0
// Running another program to its end, like popen, with a time limit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.hpp"

namespace leat::platform {

/// Runs `arguments[0]` with `input` as its standard input, and waits till it has closed its standard
/// output and ended; what it wrote there. Its errors go to the caller's standard error. When it has
/// not ended in time, it and what it started are killed: ERROR_TIMEOUT. ERROR_SERVER when it cannot
/// be started or ends with another status than 0; the message says how it ended.
Result<std::string> run_program(const std::vector<std::string>& arguments, const std::string& input,
                                std::int64_t timeout_ns);

}  // namespace leat::platform
