// SPDX-License-Identifier: Apache-2.0
// A log file that is opened such that others who may write to its folder cannot have the server
// write elsewhere.
#pragma once

#include <spdlog/sinks/sink.h>

#include <memory>
#include <string>

#include "lib/base/status.hpp"

namespace leat::server {

/// Goes on with the file, or begins it anew. A link is followed when it is this user's own, or
/// root's. An error, which says what to do, for files and links of others.
Result<std::shared_ptr<spdlog::sinks::sink>> log_file(const std::string& path, bool goes_on);

}  // namespace leat::server
