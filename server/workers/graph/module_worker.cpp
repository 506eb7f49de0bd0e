// SPDX-License-Identifier: Apache-2.0
// What a thread does at the process of a module, where it is something else than for scripts.
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/kept_with.hpp"
#include "lib/os/mapped_file.hpp"
#include "server/workers/graph/modules.hpp"
#include "server/workers/script_task.hpp"
#include "server/workers/script_worker.hpp"

namespace leat::server {

// It wants no turn any more, and has said so by its status.
void ScriptWorker::module_is_done() {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  context_.log->info("{} has ended by itself: it has no more turns", seat_.module->title());
  seat_.module->give_up();
  modules::settle(board_);
}

// The plan has another program than the one that runs.
bool ScriptWorker::is_replaced() const {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  return seat_.module->was_changed;
}

// What its process is started with: the program of the plan as it is now, and new memory for what it makes.
void ScriptWorker::prepare_module() {
  std::shared_ptr<const ModulePlan> plan;
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    plan = seat_.module->file.module;
  }
  auto file = os::MappedFile::make("leat-module", context_.model.scripts.memory_bytes);
  why_not_ = file ? "" : file.error().message;
  if (!file) return;
  seat_.outputs = std::make_shared<OutputMemory>(std::move(*file));
  modules::prepare(*plan, seat_.outputs->file().descriptor(), context_.plan, &seat_.plan);
}

// Its process has answered when it was started; what it takes and makes is in the plan.
ScriptFailure ScriptWorker::load_module(Script& script) {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  Frame plan{{{"functions", modules::functions_of(*script.file.module)}}, ""};
  script.fresh = false;
  loaded(script, plan);
  return failure_in(plan.head);
}

// It has said why, and needs no further word.
void ScriptWorker::end_of_failed_module() {
  seat_.process.await_end();
  seat_.process.end();
  process_died();
}

// Of a turn that has ended well: all or nothing. Modules have it at once, whatever the stores are at.
void ScriptWorker::hand_over_outputs(const Iteration& iteration) {
  std::optional<Publication> made = std::exchange(seat_.made, {});
  if (!made) return;
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    modules::give(board_, *made);
  }
  made->memory = kept_with(made->memory, context_.pending.hold(iteration.number));
  context_.publish(std::move(*made));
}

void ScriptWorker::take_outputs(const Script& script, const Frame& message,
                                const Iteration& iteration) {
  Publication made = modules::publication_of(message, seat_.outputs);
  const std::size_t told = member_of(message.head, "arrays").size();
  if (made.products.size() < told)
    context_.log->error("{}: {} of what it has put cannot be handed over: no array is described so",
                        script.title(), told - made.products.size());
  if (made.products.empty()) return;
  made.source = script.file.name;
  made.iteration = iteration.number;
  made.parameters = iteration.parameters;
  const std::string why = add_to(&seat_.made, std::move(made));
  if (!why.empty()) context_.log->error("{}: {}", script.title(), why);
}

}  // namespace leat::server
