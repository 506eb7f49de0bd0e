// SPDX-License-Identifier: Apache-2.0
// What a server has to say, line by line. From any thread.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace leat::server {

enum class LogLevel { debug, info, warning, error };
const char* name_of(LogLevel level) noexcept;
/// A line of the log names as many of a kind, and says only that there are more.
inline constexpr std::size_t kMostNamed = 8;

/// Info for a name that is none.
LogLevel log_level_of(std::string_view name) noexcept;

class Log {
 public:
  /// Lines below `least` are left out.
  explicit Log(LogLevel least) : least_(least) {}
  virtual ~Log() = default;

  bool shows(LogLevel level) const noexcept { return level >= least_; }

  // Only the check of the format is compiled where they are called; none of them throws.
  template <class... Args>
  void log(LogLevel level, fmt::format_string<Args...> format, const Args&... args) noexcept {
    write(level, format, fmt::make_format_args(args...));
  }
  /// What is looked up when a run is looked at closely: in a log file, not on the terminal, unless
  /// the XML says otherwise.
  template <class... Args>
  void debug(fmt::format_string<Args...> format, const Args&... args) noexcept {
    write(LogLevel::debug, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, const Args&... args) noexcept {
    write(LogLevel::info, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, const Args&... args) noexcept {
    write(LogLevel::warning, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, const Args&... args) noexcept {
    write(LogLevel::error, format, fmt::make_format_args(args...));
  }

 private:
  void write(LogLevel level, fmt::string_view format, fmt::format_args args) noexcept;
  /// A whole line or several, without the last line's end.
  virtual void put(LogLevel level, const std::string& text) = 0;

  LogLevel least_;
};

}  // namespace leat::server
