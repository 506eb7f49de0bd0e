// SPDX-License-Identifier: Apache-2.0
// Stores at work. One thread takes complete iterations, and what scripts have published, in order.
// Each goes to all stores that take it, at the same time where there are cores for it; then what
// they have published of it goes to those that take that, first to those that make something of
// it themselves. One that may leave iterations out keeps the others waiting while nothing else is
// there to be done. A store that is slow or fails delays or harms no client: the event loop never
// waits for this.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "lib/shm/layout.hpp"
#include "server/derive/derivation.hpp"
#include "server/pipeline/coverage/array_checks.hpp"
#include "server/pipeline/coverage/storing_check.hpp"
#include "server/pipeline/lanes.hpp"
#include "server/pipeline/store_node.hpp"
#include "server/pipeline/work_queue.hpp"
#include "server/pipeline/work_team.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/run.hpp"
#include "server/state/trace/trace.hpp"

namespace leat::server {

class Pipeline final {
 public:
  using Nodes = std::vector<std::unique_ptr<StoreNode>>;

  struct Hooks {
    /// Called after each result; must be quick.
    std::function<void()> wake = [] {};
    /// Called with what has been published of an iteration, when the stores have had it: what they
    /// have made of it themselves, be it nothing (by_stores), or what a script has, and they of
    /// that. Not kept beyond the call, which may wait.
    std::function<void(std::int64_t iteration, const std::vector<Publication>&, bool by_stores)>
        published = [](std::int64_t, const std::vector<Publication>&, bool) {};
    /// Called with an iteration when all that is made of it by `derive_with` is in it.
    std::function<void(const Iteration&)> derived = [](const Iteration&) {};
  };

  /// `progress`: one per plugin, see StoreNode. `hooks`: called from the pipeline's thread.
  Pipeline(std::vector<std::unique_ptr<PluginInstance>> plugins,
           std::span<shm::StoreWords> progress, Hooks hooks, const ServerCores& cores = {});
  ~Pipeline() { stop(); }

  /// Starts the thread, which calls `first` and opens all plugins; what is submitted before waits.
  /// `ranks`: of this server, ascending.
  void start(Executor& executor, const std::vector<std::int32_t>& ranks = {},
             std::function<void()> first = {});
  /// Before the start.
  void trace_with(Trace* trace);
  /// What makes variables of others; null: nothing is to be made.
  void derive_with(std::unique_ptr<Derivation> derivation) { derivation_ = std::move(derivation); }
  bool derives() const noexcept { return derivation_ && derivation_->makes_any(); }
  void check_with(const model::Model& model, ArrayChecks::Wanted wanted);
  bool is_started() const noexcept { return thread_.joinable(); }
  /// From any thread.
  void submit(Work work);
  /// A store has reduced something over the servers of the run: deliver() follows, however long that takes. Meanwhile the
  /// store has the iteration, and nobody waits but the end.
  void expect() { queue_.expect(); }
  /// Before all else that waits. From any thread.
  void deliver(Delivery delivery);
  /// Takes the oldest iteration out that no store has begun, and none gets it.
  std::optional<Iteration> take_oldest(const WaitingLine::Which& which);
  /// No store gets what ranks have written undeclared in this iteration, where none has begun with it.
  void drop_published(std::int64_t iteration);
  WorkQueue& queue() noexcept { return queue_; }
  const WorkQueue& queue() const noexcept { return queue_; }
  /// The store may yet reduce something in this iteration, which was submitted or never will be.
  bool may_reduce(std::uint32_t store, std::int64_t first, std::int64_t last) const;

  /// After all that was submitted the plugins are closed, then the result `closed` comes.
  void close() { queue_.close(); }
  /// Waits for the end of the thread. close() first for an orderly one.
  void stop();

  /// Cheap enough to be asked in a loop.
  bool has_results() const noexcept { return has_results_.load(std::memory_order_relaxed); }
  std::vector<PipelineResult> take_results();
  /// Something was started or submitted of which no result has been taken.
  bool is_busy() const noexcept { return unfinished_.load(std::memory_order_relaxed) > 0; }
  /// Which store is busy for more than a second, and longest: "store "out" has worked on iteration
  /// 41 for 12 s", or "".
  std::string slowest() const;
  const Nodes& stores() const noexcept { return stores_; }

 private:
  struct Held;
  /// One piece of work on its way through the stores.
  struct Turn {
    std::int64_t iteration = 0;
    std::vector<std::uint8_t> left_out;  ///< by store: it does not get it
  };

  void run(const std::function<void()>& first);
  bool next(Work* work);
  void report(PipelineResult result);
  PipelineResult for_all(PipelineResult::Kind kind, std::string (PluginInstance::*call)());
  PipelineResult process(Iteration& iteration);
  void derive(Iteration* iteration, PipelineResult* result);
  PipelineResult process(const Publication& publication);
  PipelineResult process(const Delivery& delivery);
  PipelineResult delivered(const Delivery& delivery);
  std::vector<std::optional<StoreOutcome>> give(const std::shared_ptr<Held>& held, Turn* turn,
                                                std::size_t* at_work);
  std::vector<StoreOutcome> pass_on(const Turn& turn, std::vector<Publication>* published);
  void give(const Turn& turn, const std::vector<Publication>& published, int step,
            std::vector<StoreOutcome>* outcomes);
  void send_aside(const Turn& turn, const std::vector<Publication>& published, int step);
  SideStores::Round await_aside(std::int64_t iteration);
  void came_late(StoreNode& store, PipelineResult result);
  std::vector<std::string> tell_end(PipelineResult* result);

  Nodes stores_;
  Trace* trace_ = nullptr;
  Trace::Track track_ = 0;
  std::vector<int> steps_;  // by store: see model::ProductFlow
  Hooks hooks_;
  std::optional<ArrayChecks> checks_;
  std::optional<StoringCheck> storing_;
  std::unique_ptr<Derivation> derivation_;
  WorkQueue queue_;
  Crews crews_;
  SideStores aside_;
  Lanes lanes_;
  std::mutex mutex_;
  std::vector<PipelineResult> results_;
  std::atomic<bool> has_results_{false};
  std::atomic<std::int64_t> unfinished_{0};  // only counted: the mutex orders the rest
  std::jthread thread_;
};

/// The simulation waits until a store has it, and the result `awaited` says when.
bool is_awaited(const Pipeline::Nodes& stores, const Iteration& iteration);

}  // namespace leat::server
