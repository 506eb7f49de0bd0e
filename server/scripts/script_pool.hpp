// SPDX-License-Identifier: Apache-2.0
// Scripts at work beside the pipeline: up to k Python processes, each with a thread of ours that
// speaks to it and may wait for it. Whatever a script does, it costs its own iteration: the event
// loop, the stores and the other scripts never wait for one.
//
// Threads: the event loop calls what is public; one thread watches the files and hands iterations
// out (a file system that hangs must not stop the loop); one thread per process runs scripts.
//
// A script stays in one process. While a call there takes long, the other scripts of that process
// go on in another one, of which there may be twice as many as the XML says: one that loops costs
// its own iterations only.
#pragma once

#include <spdlog/logger.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/platform/affinity.hpp"
#include "server/ledger/ledger.hpp"
#include "server/pipeline/script_results.hpp"
#include "server/scripts/constants_file.hpp"
#include "server/scripts/script.hpp"
#include "server/scripts/script_guard.hpp"
#include "server/scripts/worker_process.hpp"
#include "server/session/own_name.hpp"
#include "server/session/steering.hpp"

namespace leat::server {

struct ScriptPoolParts {
  const model::Model& model;
  std::string session;
  std::string segment_path{};  ///< of the file that is the segment
  const void* segment_start = nullptr;
  std::int32_t ranks = 1;
  std::int32_t node_ranks = 1;
  bool resumed = false;  ///< what there is of output is this run's
  std::shared_ptr<spdlog::logger> log{};
  std::function<void(ScriptResults)> store{};  ///< called from any thread
  std::function<void()> wake{};  ///< called from any thread when there is something new
};

/// How one script does, for those who watch the run.
struct ScriptMetrics {
  std::string name;
  ScriptFate fate;
  double seconds = 0;         ///< at work
  std::uint64_t waiting = 0;  ///< iterations
  bool usable = true;         ///< false: it is not called any more, until it changes
};

/// The user has not named a folder, so all that is in it is ours.
inline bool has_default_output(const model::Model& model) {
  return model.scripts.output == model.name + "-scripts";
}

class ScriptPool {
 public:
  explicit ScriptPool(ScriptPoolParts parts);
  /// Kills what still runs; drain first for an orderly end.
  ~ScriptPool();

  /// Starts the processes. Nothing is started, and nothing is paid later, when there is no
  /// <scripts>.
  void start();
  bool exists() const noexcept { return model_.scripts.exist(); }
  void submit(const Iteration& iteration);
  /// Nothing is left to be run.
  bool idle() const;
  /// The clients wait for memory: iterations that wait for a busy script are let go, where its
  /// policy is to skip.
  void let_go_for_memory();
  /// The run has to end: what waits is let go, whatever its policy, and what runs is killed.
  void abandon();
  std::vector<SteeringRequest> take_steering();
  /// A row for <output>/steering.csv, the audit trail.
  void note_steering(const AuditEntry& entry);
  /// Where the processes run, from now on.
  void place(const platform::CpuSet& cpus);
  /// How each has fared so far.
  std::map<std::string, ScriptFate> fates() const;
  std::vector<ScriptMetrics> metrics() const;
  /// Loads all of them anew, those too that have not changed or were given up.
  void reload();
  /// Grows with each failure and each iteration that is left out.
  std::uint64_t trouble() const;
  /// A line per script: calls, time, failures.
  std::vector<std::string> report() const;
  /// What a script holds for long, for a message to those who wait: "" for nothing.
  std::string slowest() const;

 private:
  // Of the processes that the XML wants there are so many times at most, when calls take long.
  static constexpr std::size_t kMostGrowth = 2;

  struct Worker {
    explicit Worker(const WorkerPlan& plan) : process(plan) {}
    WorkerProcess process;
    std::thread thread;
    Script* running = nullptr;  // also while it is being loaded
    std::int64_t running_since_ns = 0;
    std::int64_t running_iteration = -1;
    std::vector<Script*> moved_away;  // loaded here still, and called in another process
    std::string why_not;              // it cannot be started at all
    bool interfered = false;          // how it ended: somebody killed or stopped it
  };
  struct Order {
    enum class Kind { load, unload, run } kind = Kind::run;
    Script* script = nullptr;
    ScriptJob job;
  };

  void leave_inbox_out();

  // Handing out
  void hand_out();
  void take_output_folder();
  void write_audit_trail();
  bool next_iteration(std::shared_ptr<const Iteration>* iteration);
  void look_for_changes();
  void warn_of_groups(const std::vector<ScriptFile>& files);
  void take_file(const ScriptFile& file);
  void give_to_scripts(const Iteration& iteration);
  std::size_t worker_for_new_script();
  std::size_t add_worker();
  void relieve();
  bool find_other_worker(const Script& script, std::size_t* index);

  // At a process
  void work(Worker& worker, std::size_t index);
  bool next_order(Worker& worker, std::size_t index, Order* order);
  bool find_order(Worker& worker, std::size_t index, Order* order);
  bool may_run(const Script& script) const;
  void reap(Worker& worker);
  void ensure_guard();
  bool ensure_runs(Worker& worker, std::size_t index);
  void carry_out(Worker& worker, const Order& order);
  ScriptFailure load(Worker& worker, Script& script);
  ScriptFailure run(Worker& worker, Script& script, const Iteration& iteration);
  ScriptFailure converse(Worker& worker, Script& script, const Frame& order, double seconds,
                         std::int64_t iteration, Frame* answer);
  void tell(Script& script, const std::string& when, const ScriptFailure& failure,
            const std::string& then);
  std::string note_in_own_log(const Script& script, const std::string& when,
                              const std::string& text) const;
  void take_message(const Script& script, Frame& message, std::int64_t iteration);
  void take_results(const Script& script, Frame& message, std::int64_t iteration);
  void process_died(Worker& worker);
  void loaded(Script& script, const Frame& answer);
  void done(const Order& order, const ScriptFailure& failure);

  const model::Model& model_;
  std::shared_ptr<spdlog::logger> log_;
  const char* segment_start_;
  bool resumed_;
  std::function<void(ScriptResults)> store_;
  std::function<void()> wake_;
  ConstantsFile constants_;
  WorkerPlan plan_;
  std::string session_;
  OwnName own_output_;
  std::string output_;               // folder
  std::set<std::string> looked_at_;  // scripts, and what was said of their groups

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // for all threads
  std::deque<std::shared_ptr<const Iteration>> inbox_;
  bool handing_out_ = false;
  bool closing_ = false;
  bool have_looked_ = false;                         // into the folders of scripts
  std::vector<WrittenVariables> before_first_look_;  // left out then: for scripts not known yet
  std::list<Script> scripts_;                        // addresses stay
  ScriptGuard guard_;                                // ends after the workers
  std::vector<std::unique_ptr<Worker>> workers_;
  std::uint64_t orders_ = 0;
  std::set<std::string> problems_;  // said already
  std::vector<SteeringRequest> steering_;
  std::vector<AuditEntry> audit_;  // not yet written
  platform::CpuSet cpus_;
  std::thread dispatcher_;
};

}  // namespace leat::server
