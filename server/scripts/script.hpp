// SPDX-License-Identifier: Apache-2.0
// One script of the run: what it wants, what waits for it, how it fares. Guarded by the pool's
// lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "server/iteration_tracker.hpp"
#include "server/scripts/script_files.hpp"

namespace leat::server {

/// One function of a script, as the worker that loaded it tells.
struct ScriptFunction {
  std::int64_t every = 1;
  bool all_variables = true;
  std::vector<std::uint32_t> variables;  ///< that vary in time: due when all of them are there

  bool wants(std::uint32_t variable) const;
  bool is_due(const Iteration& iteration) const;
};

struct ScriptJob {
  std::shared_ptr<const Iteration> iteration;  ///< with the variables that the script wants
  bool from_start =
      false;  ///< came while the script was loaded for the first time: not left out for a newer one
};

struct ScriptCounts {
  std::uint64_t calls = 0, failed = 0, skipped = 0;
  double seconds = 0;
  std::string first_error;  ///< its last line
};

struct Script {
  ScriptFile file;
  const model::ScriptSource* source = nullptr;
  std::size_t worker = 0;
  bool must_load = true;  ///< new, changed, or its process is a new one
  bool loading = false;
  bool removed = false;
  bool fresh = true;        ///< never loaded in this run
  bool at_start = true;     ///< it is being loaded for the first time
  bool was_changed = true;  ///< on disk, since it was loaded
  bool usable = true;       ///< false: failed too often, or could not be loaded; until it changes
  std::vector<ScriptFunction> functions;  ///< of the version that is loaded
  std::deque<ScriptJob> waiting;          ///< ascending
  std::string state;                      ///< ctx.state, pickled
  std::int64_t failures_in_a_row = 0;
  std::int64_t backlog_until_ns = 0;  ///< when what came at the start is old; 0: there is none
  ScriptCounts counts;

  /// What it wants is not known yet.
  bool unknown() const noexcept { return must_load || loading; }
  /// True when it is, or may turn out to be, due.
  bool may_want(const Iteration& iteration) const;
  /// The part of the iteration that it wants, with holds on that part only.
  std::shared_ptr<const Iteration> part_of(const Iteration& iteration) const;
  /// Takes it in line; by the policy of its source in the place of the one that waits.
  void add(std::shared_ptr<const Iteration> part);
  void drop_waiting();
  /// Counts it. `why` is of the report when it is the first.
  void note_failure(const std::string& why);
  /// It is not called any more, until it changes.
  void give_up();
  /// It was loaded for the first time: for a while it may catch up.
  void has_started(std::int64_t now_ns);
  /// A script that may skip and is still not done with what came at the start goes on with the
  /// newest.
  void leave_backlog(std::int64_t now_ns);
};

}  // namespace leat::server
