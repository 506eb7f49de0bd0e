// SPDX-License-Identifier: Apache-2.0
// The folder in which the processes of one run on one node find each other:
// $LEAT_RUNTIME_DIR, or /tmp/leat-<uid>, mode 0700, with for each session
//   <session>.sock   where the server listens for ranks
//   <session>.control  where it listens for people and programs, see docs/design/control.md
//   <session>.lock   locked by the process that is starting a server
//   <session>.live   locked by the server as long as it lives; its text is the name of its segment
//   <session>.ranks  with several servers: where its ranks may run; see ranks_of_node.hpp
//   <session>.late   after its end: which ranks had not come; see late_ranks.hpp
// and for each segment, which outlives its session until what lies in it is stored,
//   <session>-<pid>.<start>.<namespace>.journal  what a server that takes over must know and cannot
//   see in it <session>-<pid>.<start>.<namespace>.spill    a link to its folder on a disk, with
//   when-full="spill"
// file_lock.hpp says what these locks are worth, stale_resources.hpp what becomes of the files of the
// dead.
#pragma once

#include <cstddef>
#include <string>

#include "lib/base/status.hpp"

namespace leat::platform {

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
  std::string journal, spill;
};
/// `stem` is stem_of the segment's name.
SegmentFiles segment_files(const std::string& folder, const std::string& stem);

}  // namespace leat::platform
