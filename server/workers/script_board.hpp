// SPDX-License-Identifier: Apache-2.0
// What all that is at work for the scripts of a run has in common: the engine's thread (ScriptPool), the one that hands
// iterations out (ScriptHandOut), and one per process (ScriptWorker).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/os/cores.hpp"
#include "server/state/group/reductions.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/run.hpp"
#include "server/state/trace/trace.hpp"
#include "server/workers/graph/graph_edit.hpp"
#include "server/workers/graph/host_door.hpp"
#include "server/workers/graph/output_memory.hpp"
#include "server/workers/schedule_apart.hpp"
#include "server/workers/script.hpp"
#include "server/workers/script_output.hpp"
#include "server/workers/worker_process.hpp"

namespace leat::server {

/// A process for scripts, and the thread that speaks to it.
struct ScriptSeat {
  explicit ScriptSeat(const WorkerPlan& its_plan, Script* its_module = nullptr)
      : plan(its_plan), process(plan), module(its_module) {}
  WorkerPlan plan;
  WorkerProcess process;
  Script* const module;                   ///< that alone runs here; null: scripts do
  std::shared_ptr<OutputMemory> outputs;  ///< of its process
  std::optional<Publication> made;        ///< in its turn, which has not ended well yet
  std::jthread thread;
  // With the board's lock
  Script* running = nullptr;  // also while it is being loaded
  std::int64_t running_since_ns = 0;
  std::int64_t running_iteration = -1;
  bool awaits_servers = false;      ///< what runs waits for other servers of the run
  std::vector<Script*> moved_away;  // loaded here still, and called in another process
};

/// Which scripts there are, what waits for them, and which are at work. All with its lock.
struct ScriptBoard {
  // Of the processes that the XML wants there are so many times at most, when calls take long; and one
  // for each call that waits for other servers, where scripts may have come in another order.
  static constexpr std::size_t kMostGrowth = 2;

  mutable std::mutex mutex;
  std::condition_variable changed;  // for all threads
  bool closing = false;

  /// An iteration, or what has been published of one.
  struct News {
    std::variant<Iteration, Published> what;
    std::shared_ptr<const void> pending;  ///< see PendingIterations
  };
  std::deque<News> inbox;  // not handed out
  bool handing_out = false;
  bool have_looked = false;                // into the folders of scripts
  std::vector<Content> before_first_look;  // left out then: for scripts not known yet

  /// Of products that scripts have or wait for, in bytes.
  std::shared_ptr<std::atomic<std::uint64_t>> product_bytes =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  bool abandoned = false;  // nobody waits for scripts any more

  std::list<Script> scripts;     // addresses stay
  std::vector<GraphEdit> edits;  // of the graph of the run, not written yet
  std::vector<std::unique_ptr<ScriptSeat>> seats;
  std::uint64_t orders = 0;    // given to processes so far
  std::set<std::string> said;  // problems of all scripts, each of which is said once
  os::CpuSet cpus;             // of the processes, but of those in what time nobody else wants
  os::CpuSet cpus_of(const ScriptSeat& seat) const {
    return seat.plan.idle ? os::allowed_cpus() : cpus;
  }
};

/// What does not change while they are at work, or has a lock of its own.
struct ScriptContext {
  const model::Model& model;
  std::shared_ptr<Log> log;
  Executor& executor;
  const char* segment_start;
  bool resumed;                              ///< what there is of output is this run's
  std::function<void(Publication)> publish;  ///< called from any thread
  std::function<void()> wake;                ///< called from any thread when there is something new
  Reductions& reductions;
  ScriptOutput output;
  PendingIterations pending;
  HostDoors doors;
  std::unique_ptr<HarvestOfModules> harvest;
  WorkerPlan plan{};
  ConstantsFile constants{};
  ScriptSteering steering{};
  ScriptGuard guard{};
  Trace* trace = nullptr;  ///< null: none is wanted
  ScriptBoard board{};

  /// A call of a script, or what is said instead, on the script's track.
  TracedTime traced(const Script& script, std::int64_t iteration, const char* what = "") const {
    const Trace::Track track =
        trace
            ? trace->track((script.inputs ? "module " : "script ") + script.file.name, kScriptPlace)
            : Trace::Track{0};
    return {trace, track, iteration, what};
  }
  /// Of functions that other servers alone call with this one.
  void leave_reductions(const Script& script, const Content& content) const {
    for (const std::uint64_t channel : script.channels_without(content))
      reductions.leave_out(channel, content.number);
  }
};

}  // namespace leat::server
