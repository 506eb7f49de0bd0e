// SPDX-License-Identifier: Apache-2.0
// Plugins at work: one thread takes complete iterations, and what scripts published, in order and
// passes each to the plugins in declared order. What plugins publish of an iteration goes to those
// that subscribe to it when all plugins have had the iteration. A plugin that is slow or fails delays or harms
// no client: the event loop never waits for this thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "lib/shm/layout.hpp"
#include "server/pipeline/checksums.hpp"
#include "server/pipeline/coverage/array_checks.hpp"
#include "server/pipeline/plugin_instance.hpp"
#include "server/products/publication.hpp"
#include "server/session/executor.hpp"
#include "server/spill/waiting_line.hpp"

namespace leat::server {

using Work = std::variant<Iteration, Publication>;

/// What became of one iteration at one plugin.
struct StoreOutcome {
  std::string store;
  std::string error;  ///< empty: stored
};

/// What the pipeline reports, in order.
struct PipelineResult {
  enum class Kind { opened, iteration, products, closed } kind = Kind::iteration;
  std::int64_t iteration = 0;
  std::vector<StoreOutcome> outcomes{};  ///< of the plugins that were called
  std::vector<BlockProblem> problems{};  ///< of blocks whose checksums are not theirs
  std::vector<Finding> findings{};       ///< of global arrays, whose blocks are all right
  Work work{};                           ///< what it is about; its blocks are held until this ends
};

class Pipeline final : public WaitingLine {
 public:
  /// `wake` is called from the pipeline's thread after each result; it must be quick.
  /// `progress`: one per plugin, kept for a server that takes over; what they say that a plugin has
  /// is not given to it again.
  Pipeline(std::vector<std::unique_ptr<PluginInstance>> plugins,
           std::span<shm::StoreWords> progress, std::function<void()> wake);
  /// Ends the thread without closing what is open; close() first for an orderly end.
  ~Pipeline() override { close(); }

  /// Starts the thread, which calls `first` and opens all plugins; what is submitted before waits.
  /// `first_rank`: the lowest of this node.
  void start(Executor& executor, std::int32_t first_rank = 0, std::function<void()> first = {});
  /// Before the start.
  void check_with(const model::Model& model, ArrayChecks::Wanted wanted) {
    checks_.emplace(model, wanted);
  }
  bool is_started() const noexcept { return thread_.joinable(); }
  /// A publication goes to all plugins that subscribe to it. From any thread.
  void submit(Work work);
  // Iterations that wait, and that no plugin has begun
  /// Takes the oldest one out, and no plugin gets it.
  std::optional<Iteration> take_oldest(const Which& which);
  std::optional<Iteration> newest(const Which& which) const override;
  bool replace(Iteration iteration) override;
  /// Of the iteration that the plugins are busy with, else of the first that waits.
  std::optional<std::int64_t> first_number() const;

  /// After all that was submitted the plugins are closed, then the result `closed` comes.
  void close();

  /// Cheap enough to be asked in a loop.
  bool has_results() const noexcept { return has_results_.load(std::memory_order_relaxed); }
  std::vector<PipelineResult> take_results();
  /// Something was started or submitted of which no result has been taken.
  bool is_busy() const noexcept { return unfinished_.load(std::memory_order_relaxed) > 0; }
  /// What a plugin is busy with for more than a second: "store "out" has worked on iteration 41 for
  /// 12 s", or "".
  std::string slowest() const;
  const std::vector<std::unique_ptr<PluginInstance>>& plugins() const noexcept { return plugins_; }

 private:
  void run(const std::function<void()>& first);
  bool next(Work* work);
  void report(PipelineResult result);
  void note_call(const PluginInstance* plugin, std::int64_t iteration);
  PipelineResult for_all(PipelineResult::Kind kind, std::string (PluginInstance::*call)());
  PipelineResult process(Iteration& iteration);
  void pass_on_published(std::int64_t iteration, const std::vector<std::size_t>& by);
  std::vector<std::string> stores_of(std::int64_t iteration, std::uint32_t variable) const;
  PipelineResult process(const Publication& publication);

  std::string give(std::size_t store, const Iteration& iteration);

  std::vector<std::unique_ptr<PluginInstance>> plugins_;
  std::span<shm::StoreWords> progress_;
  std::function<void()> wake_;
  std::optional<ArrayChecks> checks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  std::vector<PipelineResult> results_;
  std::atomic<bool> has_results_{false};
  std::atomic<std::int64_t> unfinished_{0};  // only counted: the mutex orders the rest
  bool closing_ = false;
  const PluginInstance* busy_ = nullptr;  // the plugin that is being called
  std::int64_t busy_since_ns_ = 0;
  std::int64_t busy_iteration_ = 0;
  std::jthread thread_;
};

}  // namespace leat::server
