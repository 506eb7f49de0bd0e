// SPDX-License-Identifier: Apache-2.0
// A process beside leatd for the case that leatd is killed: it ends then what scripts have started.
// The workers themselves end with leatd; what they have forked does not, and is not known to
// anybody any more but by its mark (platform::family_mark).
#pragma once

#include <mutex>
#include <string>

#include "lib/platform/process.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::server {

class ScriptGuard {
 public:
  ScriptGuard() = default;
  ScriptGuard(const ScriptGuard&) = delete;
  /// Nothing is left to be guarded: the process ends.
  ~ScriptGuard();

  /// Starts the process when it does not run: before each worker, since somebody may have killed
  /// it. From any thread. "", or why it cannot be started.
  std::string ensure();

 private:
  std::mutex mutex_;
  pid_t pid_ = -1;
  platform::UniqueFd line_;  // the other end is told that all is well, or finds that we are dead
};

/// What the process does, `leatd --guard-scripts <process id of leatd>`. Returns its exit status.
int guard_scripts(pid_t guarded);

}  // namespace leat::server
