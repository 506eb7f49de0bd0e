// SPDX-License-Identifier: Apache-2.0
// The time between SIGTERM and the kill that follows it: half of it for what ranks still hand over,
// a quarter for scripts, the rest for the stores.
#pragma once

#include <cstdint>
#include <string>

#include "server/engine/engine.hpp"

namespace leat::server {

class Grace {
 public:
  /// `grace_ns`: all of it.
  Grace(Engine& engine, Log& log, std::int64_t grace_ns)
      : engine_(engine), log_(log), half_ns_(grace_ns / 2) {}

  /// Told to end; the second time, or without any grace, at once.
  void begin(const std::string& who, std::int64_t now_ns);
  /// To be called often.
  void watch(std::int64_t now_ns);
  bool has_begun() const noexcept { return take_until_ns_ != 0; }

 private:
  Engine& engine_;
  Log& log_;
  std::int64_t half_ns_;
  std::string who_;
  // When nothing more is taken, and when scripts are not waited for any more. 0: not told to end.
  std::int64_t take_until_ns_ = 0, scripts_until_ns_ = 0;
};

}  // namespace leat::server
