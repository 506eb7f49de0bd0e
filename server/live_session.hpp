// SPDX-License-Identifier: Apache-2.0
// The files by which a session's server is known on its node; removed when this object ends.
#pragma once

#include <string>

#include "lib/base/status.hpp"
#include "lib/platform/runtime_folder.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::server {

class LiveSession {
 public:
  /// Takes the session's lock, writes the name of its segment to be into it, and first removes what
  /// dead sessions of this user left on the node. The segment of a server of this session that has
  /// died, while ranks of it live, is taken over; with `take_over`, its name, it must be there.
  static Result<LiveSession> begin(const std::string& session, const std::string& take_over);

  LiveSession(LiveSession&&) = default;
  LiveSession& operator=(LiveSession&&) = default;
  ~LiveSession();

  const std::string& session() const noexcept { return session_; }
  const std::string& segment() const noexcept { return segment_; }
  bool is_taken_over() const noexcept { return is_taken_over_; }
  const std::string& socket() const noexcept { return files_.socket; }
  const std::string& journal() const noexcept { return files_.journal; }
  const std::string& spill_link() const noexcept { return files_.spill; }

 private:
  LiveSession(std::string session, platform::SessionFiles files, std::string segment,
              bool is_taken_over, platform::UniqueFd lock)
      : session_(std::move(session)),
        files_(std::move(files)),
        segment_(std::move(segment)),
        is_taken_over_(is_taken_over),
        lock_(std::move(lock)) {}

  std::string session_;
  platform::SessionFiles files_;
  std::string segment_;
  bool is_taken_over_;
  platform::UniqueFd lock_;  // moved from: empty, and nothing is removed
};

}  // namespace leat::server
