// SPDX-License-Identifier: Apache-2.0
#include "server/session/log.hpp"

#include <exception>

namespace leat::server {
namespace {

constexpr const char* kNames[] = {"debug", "info", "warning", "error"};

}  // namespace

const char* name_of(LogLevel level) noexcept { return kNames[static_cast<int>(level)]; }

LogLevel log_level_of(std::string_view name) noexcept {
  for (const LogLevel level : {LogLevel::debug, LogLevel::warning, LogLevel::error}) {
    if (name == name_of(level)) return level;
  }
  return LogLevel::info;
}

void Log::write(LogLevel level, fmt::string_view format, fmt::format_args args) noexcept {
  if (!shows(level)) return;
  try {
    put(level, fmt::vformat(format, args));
  } catch (const std::exception&) {
    // No memory for a line: the run goes on without it.
  }
}

}  // namespace leat::server
