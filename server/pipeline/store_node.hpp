// SPDX-License-Identifier: Apache-2.0
// One store in the pipeline: its plugin, how far it is, and what it has published of what it was
// given last.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/shm/layout.hpp"
#include "server/pipeline/pipeline_result.hpp"
#include "server/pipeline/plugin_instance.hpp"

namespace leat::server {

/// Calls come from one thread at a time; busy() from any.
class StoreNode {
 public:
  /// `progress` is kept for a server that takes over: what it says that the plugin has is not given
  /// to it again.
  StoreNode(std::unique_ptr<PluginInstance> plugin, shm::StoreWords& progress)
      : plugin_(std::move(plugin)), progress_(progress) {}

  PluginInstance& plugin() noexcept { return *plugin_; }
  const PluginInstance& plugin() const noexcept { return *plugin_; }

  /// `waiting`: iterations behind it. Nothing when it takes nothing of it.
  std::optional<StoreOutcome> give(const Iteration& iteration, std::size_t waiting);
  /// One for each of which it takes something.
  std::vector<StoreOutcome> give(const std::vector<Publication>& published);
  /// What it has published since the last time.
  std::optional<Publication> take_published();
  /// What it has published of the iteration has come to all that want it.
  void passed_on(std::int64_t iteration);

  struct Busy {
    std::int64_t since_ns = 0;  ///< 0: it is not
    std::int64_t iteration = 0;
  };
  Busy busy() const noexcept;

 private:
  std::string why_not_again(std::int64_t iteration);
  std::string process(const Iteration& iteration, std::size_t waiting);
  std::string process(const Publication& publication, const std::vector<const Product*>& wanted);
  void keep_published(std::string* error);
  template <class Call>
  std::string watched(std::int64_t iteration, const Call& call);

  std::unique_ptr<PluginInstance> plugin_;
  shm::StoreWords& progress_;
  std::optional<Publication> published_;
  bool is_publishing_ = false;  // what it has published of the iteration is on its way
  std::atomic<std::int64_t> busy_since_ns_{0}, busy_iteration_{0};
};

}  // namespace leat::server
