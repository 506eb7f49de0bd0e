// SPDX-License-Identifier: Apache-2.0
// How long this server waits for the other servers of its run: for one that lives as long as it
// takes, for one that is silent for less than the run's timeout. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/group/agreement.hpp"
#include "server/session/run.hpp"

namespace leat::server {

class Patience {
 public:
  explicit Patience(const Run& run) : run_(run) {}

  /// This server is to be heard of so often.
  std::int64_t beat_ns() const noexcept;

  /// Now and then. `looks` grows as long as the others are listened to; `stuck`: why nothing can be
  /// heard of those that are waited for, or "".
  void tick(std::uint64_t looks, const std::string& stuck);
  /// After tick(), when these are waited for: who has been silent for too long.
  std::vector<std::string> silent(const std::vector<Agreement::Other>& awaited);
  /// Nothing is waited for, or there is news of all.
  void begin_anew() noexcept { stuck_ns_ = 0; }
  /// stuck, for too long.
  bool is_over() const noexcept { return stuck_ns_ > limit_ns(); }

 private:
  struct Silence {
    std::uint64_t beat = 0;
    std::int64_t ns = 0;
  };

  std::int64_t limit_ns() const noexcept;

  const Run& run_;
  std::map<std::string, Silence> silences_;
  std::int64_t ticked_ns_ = 0, stuck_ns_ = 0;
  std::int64_t since_look_ns_ = 0;  // the one before the last
  std::uint64_t looks_ = 0;
  bool has_looked_ = false;
};

}  // namespace leat::server
