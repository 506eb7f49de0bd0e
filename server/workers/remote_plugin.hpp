// SPDX-License-Identifier: Apache-2.0
// A plugin at work in a process of its own, for the store that it is of: what it does there costs the
// server nothing, and ends with that process at worst. Should it die, another one is started, and gets
// the iteration that the dead one was at.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/shm/segment.hpp"
#include "server/pipeline/plugin_instance.hpp"
#include "server/state/run.hpp"
#include "server/workers/schedule_apart.hpp"
#include "server/workers/worker_process.hpp"

namespace leat::server {

/// The run that workers are of. What is referred to outlives them.
struct WorkersRun {
  const shm::Segment& segment;
  const RunFacts& facts;
  std::shared_ptr<Log> log;
};

class RemotePlugin final : public PluginInstance {
 public:
  /// `plugin`: the library that the process will have; nothing of it is called here.
  RemotePlugin(const leat_plugin* plugin, const model::Model& model, std::uint32_t store,
               const PluginView& view, WorkersRun run);

  std::optional<Publication> take_published() override;
  /// Stores of one library do not share it.
  const void* library() const noexcept override { return this; }

 private:
  std::string do_open() override;
  std::string do_process(const Iteration& iteration, std::size_t waiting) override;
  std::string do_process(const Publication& publication,
                         const std::vector<const Product*>& wanted) override;
  std::string do_close() override;

  std::string ask(const Frame& order, Frame* answer);
  std::optional<std::string> ensure_open();
  bool converse(const Frame& order, Frame* answer);
  void take_message(const Frame& message);
  void store_published(std::int64_t iteration, Frame answer);

  WorkersRun workers_;
  WorkerPlan plan_;
  std::unique_ptr<ScheduleApart> schedule_;
  WorkerProcess process_{plan_};
  std::optional<Publication> published_;
  bool was_open_ = false;
  int failures_in_a_row_ = 0;  // calls that no process survived
};

}  // namespace leat::server
