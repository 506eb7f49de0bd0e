// SPDX-License-Identifier: Apache-2.0
// Where the processes of one run on one node find each other: names of segments and files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/process.hpp"

namespace leat::node {

// Names of segments in /dev/shm: leat-<uid>-<session>-<pid>.<start>.<namespace>, of the leatd that
// made it. No two processes of a machine make the same name, be they in containers or not, and the
// name alone says whose a segment is, also when nothing else of its session is left. Whether it
// lives, its locks say.

/// Of a segment's file, ranks of the node lock the bytes from 0, each its own, and its server locks
/// this one, as long as they live.
inline constexpr std::int64_t kServerByte = 1 << 20;

struct SegmentName {
  std::string session;
  os::ProcessId maker;
};

/// The name of the segment that `maker`, a process of this user, makes for a session.
std::string text_of(const SegmentName& name);

/// "<session>-<pid>.<start>": the name of a segment without what all of this user's begin with.
/// Files that belong to a segment are called after it.
std::string stem_of(const std::string& segment);
/// Of a stem.
std::string segment_of(const std::string& stem);

/// Of this user, and on this node.
bool segment_is_there(const std::string& segment);

/// Empty when `text` is not the name of a segment of this user's.
std::optional<SegmentName> own_segment_name(const std::string& text);

// The folder in which the processes of one run on one node find each other:
// $LEAT_RUNTIME_DIR, or /tmp/leat-<uid>, mode 0700, with for each session
//   <session>.sock   where the server listens for ranks
//   <session>.control  where it listens for people and programs, see docs/design/control.md
//   <session>.lock   locked by the process that is starting a server
//   <session>.live   locked by the server as long as it lives; its text is the name of its segment
//   <session>.ranks  with several servers: where its ranks may run; see placement.hpp
//   <session>.late   after its end: which ranks had not come; see below
// and for each segment, which outlives its session until what lies in it is stored,
//   <session>-<pid>.<start>.<namespace>.journal  what a server that takes over must know and cannot
//   see in it; in shared memory, beside the segment, <name of the segment>.sums has what variables over time have come to
//   <session>-<pid>.<start>.<namespace>.spill    a link to its folder on a disk, with
//   when-full="spill"
// file_lock.hpp says what these locks are worth, stale_resources.hpp what becomes of the files of the
// dead.

/// Its path, be it there or not.
std::string runtime_folder_name();

/// Makes the folder when it is missing. An error when it belongs to somebody else or others may
/// write to it.
Result<std::string> runtime_folder();

inline constexpr std::size_t kLongestSessionName = 64;

/// Letters, digits, '-', '_', '.': 1 to 64 of them, the first no dot.
bool valid_session_name(const std::string& name) noexcept;

struct SessionFiles {
  std::string socket, lock, live, late, control, ranks;
};
SessionFiles session_files(const std::string& folder, const std::string& session);
/// The path of one at which something else stands, a folder or a link, which Leat has not made; or "".
std::string misplaced(const SessionFiles& files);

struct SegmentFiles {
  std::string journal, spill, sums;
};
/// `stem` is stem_of the segment's name.
SegmentFiles segment_files(const std::string& folder, const std::string& stem);

// Which ranks had not come when a session ended on this node: they are told so when they come, and
// start no server of their own. A file in the runtime folder, there only when such ranks are; a
// sweep removes it after a day. Ranks of a later run of the same name began after that end, by the
// machine's clock (CLOCK_BOOTTIME), and are not meant.
class LateRanks {
 public:
  LateRanks() = default;
  /// What is noted at `path`; none when there is no such file.
  static LateRanks read(const std::string& path);

  /// Adds these, whose session ends now, and writes all at `path`.
  void note(const std::string& path, const std::vector<std::int32_t>& node_ranks);

  /// "" unless the session that this rank belongs to had ended before it came; `since_ns` is when
  /// it began, as began_ns() has it. Else what to tell it.
  std::string why_too_late(const std::string& session, std::int32_t node_rank,
                           std::int64_t since_ns) const;

 private:
  struct One {
    std::int32_t node_rank = 0;
    std::int64_t ended_ns = 0;
    std::int64_t ended_time = 0;  // seconds since 1970
  };
  std::vector<One> ranks_;
};

/// When this process was started, on the clock of LateRanks, or a hundredth of a second later.
std::int64_t began_ns();
/// Now, on that clock.
std::int64_t boot_time_ns() noexcept;

}  // namespace leat::node
