// SPDX-License-Identifier: Apache-2.0
// What a server that takes over cannot see in the segment: values of parameters, and what was lost.
// Appended to a file in the runtime folder, in the same step in which it has its effect; removed
// with the session. It outlives the server, not the machine, so nothing is synced.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
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

  /// There was none, or it was empty: whoever takes over knows that it has been removed.
  bool is_new() const noexcept { return is_new_; }

  /// False: it is not in the file, as when that has been removed, or its disk is full.
  bool note(const nlohmann::json& entry);
  /// It has grown so much that rewrite() is worth its time, or does not hold what was noted.
  bool needs_rewriting() const noexcept {
    return try_again_ || (bytes_ > kLong && bytes_ > 2 * bytes_rewritten_);
  }
  /// Puts these in the place of all that was noted. A kill leaves either the old or the new.
  void rewrite(const std::vector<nlohmann::json>& entries);

 private:
  static constexpr std::uint64_t kLong = 1 << 20;

  std::string path_;
  platform::UniqueFd file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_rewritten_ = 0;
  bool is_new_ = false;
  bool broken_ = false;     // what was noted last is not in it
  bool try_again_ = false;  // broken, and nobody has tried to write it anew since the last note
};

}  // namespace leat::server
