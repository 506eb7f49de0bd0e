// SPDX-License-Identifier: Apache-2.0
// One store in the pipeline: its plugin, how far it is, and what it has published of what it was
// given last.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/shm/layout.hpp"
#include "server/pipeline/plugin_instance.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/trace/trace.hpp"

namespace leat::server {

/// Calls come from one thread at a time; those that say so from any.
class StoreNode {
 public:
  /// `progress` is kept for a server that takes over: what it says that the plugin has is not given
  /// to it again.
  StoreNode(std::unique_ptr<PluginInstance> plugin, shm::StoreWords& progress)
      : plugin_(std::move(plugin)), progress_(progress) {}

  /// Before anything else: what became of all up to this one is in the ledger of servers before.
  void resume(std::int64_t settled) noexcept { settled_.store(settled); }

  PluginInstance& plugin() noexcept { return *plugin_; }
  const PluginInstance& plugin() const noexcept { return *plugin_; }

  /// Its calls are slices of the trace, where one is wanted. Before the first call.
  void trace_with(Trace* trace, std::size_t number);
  TracedTime traced(std::int64_t iteration, const char* what = "") const {
    return {trace_, track_, iteration, what};
  }

  /// `waiting`: iterations behind it. Nothing when it takes nothing of it.
  std::optional<StoreOutcome> give(const Iteration& iteration, std::size_t waiting);
  /// One for each of which it takes something.
  std::vector<StoreOutcome> give(const std::vector<Publication>& published);
  /// Calls it with what it has reduced of the iteration.
  StoreOutcome deliver(const Delivery& delivery);
  /// What it has published since the last time.
  std::optional<Publication> take_published();
  /// What it has published of the iteration has come to all that want it.
  void passed_on(std::int64_t iteration);

  // One that may leave iterations out

  /// A server that takes over can still be told of one more.
  bool may_leave_out() const noexcept;
  /// It is not given this iteration, now or later. May come while a call is under way.
  void leave_out(std::int64_t iteration) noexcept;
  /// The pipeline goes on while it works on this iteration. From the pipeline's thread.
  void goes_aside(std::int64_t iteration) noexcept;
  /// Once for each time, from any thread, maybe before the pipeline has said so.
  void comes_back() noexcept { --aside_; }
  /// It has an iteration that the pipeline is past. The first from any thread.
  bool is_aside() const noexcept { return aside_.load() > 0; }
  bool is_aside_with(std::int64_t iteration) const noexcept {
    return is_aside() && aside_with_ == iteration;
  }
  /// From any thread: what became of all up to this one is in the ledger, but of what it still has.
  void settled(std::int64_t iteration) noexcept;
  /// The same of what it had aside.
  void settled_late(std::int64_t iteration) noexcept;

  struct Busy {
    std::int64_t since_ns = 0;  ///< 0: it is not
    std::int64_t iteration = 0;
  };
  Busy busy() const noexcept;

 private:
  std::atomic<std::int64_t>& oldest_left_out() const noexcept;
  bool has_left_out(std::int64_t iteration) const noexcept;
  void begin(std::int64_t iteration) noexcept;
  std::string why_not_again(std::int64_t iteration);
  std::string why_too_often() const;
  std::string process(const Iteration& iteration, std::size_t waiting);
  std::string process(const Publication& publication, const std::vector<const Product*>& wanted);
  void store_published(std::string* error);
  template <class Call>
  std::string watched(std::int64_t iteration, const Call& call);

  std::unique_ptr<PluginInstance> plugin_;
  shm::StoreWords& progress_;
  std::optional<Publication> published_;
  bool is_publishing_ = false;  // what it has published of the iteration is on its way
  std::atomic<std::int64_t> busy_since_ns_{0}, busy_iteration_{0};
  std::atomic<std::int64_t> settled_{-1};
  std::atomic<int> aside_{0};
  std::int64_t aside_with_ = -1;
  Trace* trace_ = nullptr;
  Trace::Track track_ = 0;
  std::size_t number_ = 0;  // among the stores
};

}  // namespace leat::server
