// SPDX-License-Identifier: Apache-2.0
// What a server that takes over cannot see in the segment, and the files by which a server is known on its node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/node/stale_resources.hpp"
#include "lib/os/descriptor.hpp"
#include "server/state/journal/records.hpp"

namespace leat::server {

// Records of what a server that takes over cannot see in the segment. Appended to a file in the runtime folder, in the
// same step in which each has its effect; removed with the session. It outlives the server, not the machine, so nothing
// is synced. Each record is preceded by its length in 4 bytes; the first says which version of the format the file has.
class SessionJournal {
 public:
  SessionJournal() = default;
  /// Continues the file at `path`, or makes it. Without a file nothing is stored.
  explicit SessionJournal(const std::string& path);

  /// All records that are whole: a server may have been killed while it wrote the last.
  static std::vector<JournalRecord> read(const std::string& path);

  /// There was none, or one of another version: what a server before this one knew is lost.
  bool is_new() const noexcept { return is_new_; }

  /// False: it is not in the file, as when that has been removed, or its disk is full.
  bool append(const JournalRecord& record);
  /// It has grown so much that rewrite() is worth its time, or lacks what was appended.
  bool needs_rewriting() const noexcept {
    return try_again_ || (bytes_ > kLong && bytes_ > 2 * bytes_rewritten_);
  }
  /// Replaces all that was appended by these. A kill leaves either the old or the new.
  void rewrite(const std::vector<JournalRecord>& records);

 private:
  static constexpr std::uint64_t kLong = 1 << 20;

  bool write(const std::string& frame);

  std::string path_;
  os::UniqueFd file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_rewritten_ = 0;
  bool is_new_ = false;
  bool broken_ = false;     // what was appended last is not in it
  bool try_again_ = false;  // broken, and nobody has tried to rewrite it since the last append
};

// The files by which a session's server is known on its node; removed when this object ends.

/// The rank that starts a server, and when it began to come; see node::LateRanks.
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
  os::UniqueFd take_drain_lock() noexcept { return std::move(drain_lock_); }
  /// Of other sessions, found at the beginning; those that others store already come first.
  const std::vector<node::UndrainedOne>& undrained() const noexcept { return undrained_; }
  /// "" when it is drained: nobody comes.
  const std::string& socket() const noexcept { return files_.socket; }
  const std::string& control() const noexcept { return files_.control; }
  const std::string& journal() const noexcept { return of_segment_.journal; }
  /// Where it is noted which ranks did not come.
  const std::string& late_ranks() const noexcept { return files_.late; }
  /// In shared memory: what variables over time have come to.
  const std::string& sums() const noexcept { return of_segment_.sums; }
  const std::string& spill_link() const noexcept { return of_segment_.spill; }

 private:
  LiveSession() = default;

  std::string segment_;
  node::SessionFiles files_;
  node::SegmentFiles of_segment_;
  std::vector<node::UndrainedOne> undrained_;
  bool is_taken_over_ = false, owns_segment_ = false;
  os::UniqueFd segment_lock_;  // the server's, on a segment that is taken over
  os::UniqueFd drain_lock_;    // for us alone, on one that is drained
  os::UniqueFd lock_;          // moved from: empty, and nothing is removed
};

}  // namespace leat::server
