// SPDX-License-Identifier: Apache-2.0
// The folder in which the processes of one run on one node find each other:
// $LEAT_RUNTIME_DIR, or /tmp/leat-<uid>, mode 0700, with for each session
//   <session>.sock   where the server listens
//   <session>.lock   locked by the process that is starting a server
//   <session>.live   locked by the server as long as it lives; its text is the name of its segment
// Locks are the kernel's (flock): they end with their holder, however it ends, and hold across containers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::platform {

/// Makes the folder when it is missing. An error when it belongs to somebody else or others may write to it.
Result<std::string> runtime_folder();

/// Letters, digits, '-', '_', '.': 1 to 64 of them, the first no dot.
bool valid_session_name(const std::string& name) noexcept;

struct SessionFiles {
  std::string socket, lock, live;
};
SessionFiles session_files(const std::string& folder, const std::string& session);

/// Takes an exclusive lock on the file at `path`, which is made when missing, waiting up to `timeout_ns`.
/// Empty when another process holds it. The lock is held until the descriptor is closed.
UniqueFd lock_file(const std::string& path, std::int64_t timeout_ns);

/// Removes what servers left behind that were killed with all their clients: `remove_segment(name)` is called for the
/// segment of each such session. Sessions with a living server are not touched. Returns how many were removed.
int remove_dead_sessions(const std::string& folder,
                         void (*remove_segment)(const std::string& name));

}  // namespace leat::platform
