// SPDX-License-Identifier: Apache-2.0
// What a server that takes over cannot see in the segment: values of parameters, and what was lost.
// Appended to a file in the runtime folder, in the same step in which it has its effect; removed
// with the session. It outlives the server, not the machine, so nothing is synced.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/platform/unique_fd.hpp"

namespace leat::server {

class SessionJournal {
 public:
  SessionJournal() = default;
  /// Goes on with the file at `path`, or makes it. Without a file nothing is noted.
  explicit SessionJournal(const std::string& path);

  /// All that was noted and is whole; a server may have been killed while it wrote the last.
  static std::vector<nlohmann::json> read(const std::string& path);

  void note(const nlohmann::json& entry);
  /// It has grown so much that rewrite() is worth its time.
  bool is_long() const noexcept { return bytes_ > kLong && bytes_ > 2 * bytes_rewritten_; }
  /// Puts these in the place of all that was noted. A kill leaves either the old or the new.
  void rewrite(const std::vector<nlohmann::json>& entries);

 private:
  static constexpr std::uint64_t kLong = 1 << 20;

  std::string path_;
  platform::UniqueFd file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_rewritten_ = 0;
};

}  // namespace leat::server
