// SPDX-License-Identifier: Apache-2.0
// What scripts want to be steered, on its way to the engine, and the audit trail of what came of
// it, <output>/steering.csv. From any thread.
#pragma once

#include <mutex>
#include <vector>

#include "server/scripts/script_output.hpp"
#include "server/session/steering.hpp"

namespace leat::server {

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
