// SPDX-License-Identifier: Apache-2.0
// The files by which a session's server is known on its node; removed when this object ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/platform/runtime_folder.hpp"
#include "lib/platform/stale_resources.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::server {

/// The rank that starts a server, and when it began to come; see platform::LateRanks.
struct Starter {
  std::int32_t node_rank = -1;
  std::int64_t since_ns = 0;
};

class LiveSession {
 public:
  /// Takes the session's lock, writes the name of its segment to be into it, and first removes what
  /// dead sessions of this user left on the node and hold no data. The segment that was named there
  /// before, of a server that has died while ranks of it live, is taken over; with `take_over`, its
  /// name, it must be there. Segments of this session that other runtime folders know, as those of
  /// another container, are not ours. ERROR_TIMEOUT: there is another server, or one that is just
  /// ending; ERROR_STATE: the starter has come too late for its session.
  static Result<LiveSession> begin(const std::string& session, const std::string& take_over,
                                   const Starter& starter);
  /// Takes the segment of a session that has neither server nor rank. ERROR_STATE: somebody has it;
  /// ERROR_SERVER: it is gone.
  static Result<LiveSession> drain(const std::string& segment);

  LiveSession(LiveSession&&) = default;
  LiveSession& operator=(LiveSession&&) = default;
  ~LiveSession();

  const std::string& segment() const noexcept { return segment_; }
  bool is_taken_over() const noexcept { return is_taken_over_; }
  /// From here on it goes with this object.
  void has_made_segment() noexcept { owns_segment_ = true; }
  /// All is stored: one that was taken over goes too. Without this it stays, with all that belongs
  /// to it, for the next who tries.
  void finish() noexcept { owns_segment_ = true; }
  /// Of the segment that is drained.
  platform::UniqueFd take_drain_lock() noexcept { return std::move(drain_lock_); }
  /// Of other sessions, found at the beginning.
  const std::vector<platform::UndrainedOne>& undrained() const noexcept { return undrained_; }
  /// "" when it is drained: nobody comes.
  const std::string& socket() const noexcept { return files_.socket; }
  const std::string& control() const noexcept { return files_.control; }
  const std::string& journal() const noexcept { return of_segment_.journal; }
  /// Where it is noted which ranks did not come.
  const std::string& late_ranks() const noexcept { return files_.late; }
  const std::string& spill_link() const noexcept { return of_segment_.spill; }

 private:
  LiveSession() = default;

  std::string segment_;
  platform::SessionFiles files_;
  platform::SegmentFiles of_segment_;
  std::vector<platform::UndrainedOne> undrained_;
  bool is_taken_over_ = false, owns_segment_ = false;
  platform::UniqueFd segment_lock_;  // the server's, on a segment that is taken over
  platform::UniqueFd drain_lock_;    // for us alone, on one that is drained
  platform::UniqueFd lock_;          // moved from: empty, and nothing is removed
};

}  // namespace leat::server
