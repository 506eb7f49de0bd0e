// SPDX-License-Identifier: Apache-2.0
// What the server offers to one plugin: log, ledger, progress, and to publish what it has made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/include/plugin.h"
#include "server/state/iterations/iteration.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class PluginHost {
 public:
  enum class Call { iteration, results, other };

  /// `store`: what the log and its products call it. `publishes`: what it may publish, as the XML
  /// says; none: what it likes, of iterations only.
  PluginHost(std::string store, std::vector<std::string> publishes, std::shared_ptr<Log> log,
             ServerMpi mpi = {});
  PluginHost(const PluginHost&) = delete;

  /// For the plugin, as long as this lives.
  const leat_host* abi() const noexcept { return &abi_; }

  /// What the plugin gets when it asks for the ledger; from the thread that calls the plugin.
  void show_ledger(std::function<std::string()> ledger) { ledger_ = std::move(ledger); }
  /// Called from the plugin's threads whenever it has got something done.
  void report_progress(std::function<void()> progress) { progress_ = std::move(progress); }

  /// The plugin is about to be called: what it said before is forgotten.
  void call_begins(Call call = Call::other, std::int64_t iteration = 0);
  /// The last error that it has said in this call, or "".
  std::string last_error() const;
  /// The call has failed: what it published is dropped.
  void call_failed() { published_.reset(); }
  /// What it has published in this call: all together.
  std::optional<Publication> take_published() { return std::exchange(published_, {}); }

 private:
  static void log(void* self, int level, const char* message);
  static const char* ledger(void* self);
  static void progress(void* self, std::uint64_t bytes);
  static int publish(void* self, const leat_result_set* set, void (*release)(void*), void* memory);
  static void* mpi_comm(void* self);
  void add(const leat_result_set& set, std::shared_ptr<const void> memory);
  void expect_declared(const std::string& name) const;
  void say(int level, const std::string& message);

  std::string store_;
  std::vector<std::string> publishes_;
  std::shared_ptr<Log> log_;
  ServerMpi mpi_;
  leat_host abi_;
  std::function<std::string()> ledger_;
  std::function<void()> progress_;
  mutable std::mutex mutex_;  // of last_error_: several threads log
  std::string last_error_, shown_ledger_;
  Call call_ = Call::other;
  std::int64_t iteration_ = 0;  // of the call
  std::optional<Publication> published_;
};

}  // namespace leat::server
