// SPDX-License-Identifier: Apache-2.0
// One plugin at work for one <store>: what the host passes to it, and what it says back.
#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/include/plugin.h"
#include "server/pipeline/script_results.hpp"
#include "server/session/iteration.hpp"
#include "server/session/run.hpp"

namespace leat::server {

/// The model in the terms of the plugin ABI. Points into the model, which must outlive it.
class PluginView {
 public:
  PluginView(const model::Model& model, const RunFacts& facts);
  leat_run run_for(std::uint32_t store) const;
  /// Point into the iteration's values.
  std::vector<leat_parameter> parameters_of(const Iteration& iteration) const;

 private:
  const model::Model& model_;
  const RunFacts& facts_;
  std::vector<std::vector<leat_option>> variable_options_, store_options_;
  std::vector<leat_mesh> meshes_;
  std::vector<leat_variable> variables_;
};

/// What a plugin has done with iterations so far; for other threads too, each number by itself.
struct PluginWork {
  std::atomic<std::uint64_t> calls{0}, ns{0};
  std::atomic<std::uint64_t> bytes{0};  ///< that it has taken
};

/// Calls come from the pipeline's thread only. Errors are messages; an empty one is success.
class PluginInstance {
 public:
  PluginInstance(const leat_plugin* plugin, const model::Model& model, std::uint32_t store,
                 const PluginView& view, std::shared_ptr<spdlog::logger> log);
  PluginInstance(const PluginInstance&) = delete;

  /// Before open(): the lowest rank of this node.
  void set_first_rank(std::int32_t rank) noexcept { run_.first_rank = rank; }
  std::string open();
  /// True when this plugin takes something of the iteration.
  bool wants(const Iteration& iteration) const;
  /// True when it takes the variable in this iteration.
  bool wants(std::int64_t iteration, std::uint32_t variable) const {
    return iteration % every_ == 0 && takes(variable);
  }
  std::string process(const Iteration& iteration);
  /// True when it takes what scripts make.
  bool takes_results() const noexcept { return plugin_->results != nullptr; }
  std::string process(const ScriptResults& results);
  std::string close();

  /// What the plugin gets when it asks for the ledger; from the thread that calls the plugin.
  void show_ledger(std::function<std::string()> ledger) { ledger_ = std::move(ledger); }

  /// Called from the plugin's threads whenever it has got something done.
  void report_progress(std::function<void()> progress) { progress_ = std::move(progress); }

  const std::string& store() const noexcept { return name_; }
  const PluginWork& work() const noexcept { return work_; }

 private:
  static void log_from_plugin(void* self, int level, const char* message);
  static const char* ledger_for_plugin(void* self);
  static void progress_of_plugin(void* self, std::uint64_t bytes);
  bool takes(std::uint32_t variable) const { return takes_[variable] != 0; }
  std::string outcome(int code, const char* function) const;

  const leat_plugin* plugin_;
  std::string name_;
  std::int64_t every_;
  const PluginView& view_;
  std::vector<std::uint8_t> takes_;
  leat_run run_;
  leat_host host_;
  std::shared_ptr<spdlog::logger> log_;
  void* state_ = nullptr;
  std::optional<std::string> why_not_open_ = "";  // nothing: it is open
  std::string last_error_;  // what the plugin logged as an error in the current call
  PluginWork work_;
  std::function<std::string()> ledger_;
  std::function<void()> progress_;
  std::string shown_ledger_;
};

}  // namespace leat::server
