// SPDX-License-Identifier: Apache-2.0
// Scripts at work beside the pipeline: up to k Python processes, each with a thread of ours that speaks to it and may
// wait for it. Whatever a script does, it costs its own iteration: the event loop, the stores and the other scripts
// never wait for one.  Threads: the event loop calls all of this; one thread watches the files and hands iterations out
// (a file system that hangs must not stop the loop); one thread per process runs scripts.  A script stays in one
// process. While a call there takes long, the other scripts of that process go on in another one, of which there may be
// twice as many as the XML says: one that loops costs its own iterations only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>
#include <vector>

#include "server/state/ledger/incidents.hpp"
#include "server/state/run.hpp"
#include "server/workers/script_board.hpp"
#include "server/workers/script_hand_out.hpp"

namespace leat::server {

/// How one script does, for those who watch the run.
struct ScriptMetrics {
  std::string name;
  ScriptFate fate;
  double seconds = 0;         ///< at work
  double without_core = 0;    ///< of it: its process could have worked, and others had the cores
  std::uint64_t waiting = 0;  ///< iterations
  bool usable = true;         ///< false: it is not called any more, until it changes
};

class ScriptPool {
 public:
  /// `store` is called from any thread with what a script has made, `wake` when there is something
  /// new.
  ScriptPool(const Run& run, Reductions& reductions, std::function<void(Publication)> publish,
             std::function<void()> wake);
  /// Kills what still runs; drain first for an orderly end.
  ~ScriptPool();

  /// Starts the processes. Nothing is started, and nothing is paid later, when there is no
  /// <scripts>.
  void start();
  bool exists() const noexcept { return context_.model.scripts.exist(); }
  void submit(const Iteration& iteration);
  /// What was written once, when another server had this run.
  void know(const Block& constant) { context_.constants.store(constant); }
  /// What has been published of an iteration; `by_stores`: with it, all that they have made of it.
  /// From any thread; `published` is not kept beyond the call, which waits while scripts that need
  /// all have too much to take; never with nothing published.
  void submit(std::int64_t iteration, const std::vector<Publication>& published, bool by_stores);
  /// Nothing is left to be run.
  bool idle() const;
  /// No iteration comes any more, and idle(). Files that are executed once do what they do at their end; true when all have.
  bool end_executions();
  /// A script may yet contribute to a reduction of this channel in one of these iterations, which were
  /// submitted or never will be.
  bool may_reduce(std::uint64_t channel, std::int64_t first, std::int64_t last) const;
  /// Some are loaded for the first time still, or with what came meanwhile: imports may take longer
  /// than many iterations.
  bool are_new() const;
  /// The clients wait for memory: iterations that wait for a busy script are let go, where its
  /// policy is to skip.
  void let_go_for_memory();
  /// The run has to end: what waits is let go, whatever its policy, and what runs is killed.
  void abandon();
  std::vector<SteeringRequest> take_steering();
  /// A row for <output>/steering.csv, the audit trail.
  void record_steering(const AuditEntry& entry);
  /// Where the processes run, from now on.
  void place(const os::CpuSet& cpus);
  /// How each has fared so far.
  std::map<std::string, ScriptFate> fates() const;
  std::vector<ScriptMetrics> metrics() const;
  /// The modules of graphs, as docs/reference/leat-ctl.md says.
  nlohmann::json graph() const;
  // "", or why the plan of the run stays as it is; else it is written anew soon, and followed.
  std::string add_modules(const std::string& file);
  std::string remove_module(const std::string& name);
  /// Loads all of them anew, those too that have not changed or were given up.
  void reload();
  /// Grows with each failure and each iteration that is left out.
  std::uint64_t trouble() const;
  /// A line per script: calls, time, failures.
  std::vector<std::string> report() const;
  /// What went by before it was known which scripts there are; "" for nothing.
  std::string never_looked() const;
  /// What a script holds for long, for a message to those who wait: "" for nothing.
  std::string slowest() const;

 private:
  void leave_inbox_out();
  bool is_expected(std::int64_t iteration) const;
  bool somebody_needs_all() const;
  bool somebody_may_take(const Publication& publication) const;

  ScriptContext context_;
  ScriptBoard& board_ = context_.board;
  ScriptHandOut hand_out_{context_};
  std::jthread dispatcher_;
};

}  // namespace leat::server
