// SPDX-License-Identifier: Apache-2.0
// What scripts write, steer and start beside their results.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/process.hpp"
#include "server/state/journal/names.hpp"
#include "server/state/parameters/steering.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// Files that a worker was writing when it was killed: <name>.<node>.part, locked by the worker as
// long as it writes (python-plugins/leat/scripting/outputs.py). The name of the node is in it
// because not every file system shows locks of other nodes.

/// Removes those of this node in `folder` and its folders that nobody writes to any more.
void remove_dead_parts(const std::string& folder);

// A process beside leatd for the case that leatd is killed: it ends then what scripts have started.
// The workers themselves end with leatd; what they have forked does not, and is not known to
// anybody any more but by its mark (os::family_mark).
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
  os::UniqueFd line_;  // the other end is told that all is well, or finds that we are dead
};

/// What the process does, `leatd --guard-scripts <process id of leatd>`. Returns its exit status.
int guard_scripts(pid_t guarded);

// The folder that scripts write to.
class ScriptOutput {
 public:
  /// Below `folder`, unless the XML says where.
  ScriptOutput(const model::Model& model, const RunFacts& facts, const std::string& folder);

  /// Before anything is written to it: no other run writes to it from here on, and nothing of an
  /// earlier run stands in it.
  void take(Log& log);
  /// Absolute.
  const std::string& path() const noexcept { return path_; }

  // From any thread
  /// Removes what workers were writing when they died.
  void remove_dead_parts() const;
  /// To a file in it; a new one begins with `head`. "", or why it cannot be done.
  std::string append(const std::string& name, const std::string& text,
                     const std::string& head = "") const;

 private:
  std::string path_, session_;
  bool resumed_, is_named_;  // named: by the user, so that what is in it may be anybody's
  OwnName own_;
};

// What scripts want to be steered, on its way to the engine, and the audit trail of what came of
// it, <output>/steering.csv. From any thread.
class ScriptSteering {
 public:
  void ask(SteeringRequest request);
  /// What was asked for since the last call.
  std::vector<SteeringRequest> take();

  void note(const AuditEntry& entry);
  bool has_notes() const;
  /// Writes what was noted since the last call.
  void write_notes(const ScriptOutput& output, Log& log);

 private:
  mutable std::mutex mutex_;
  std::vector<SteeringRequest> requests_;
  std::vector<AuditEntry> notes_;
};

}  // namespace leat::server
