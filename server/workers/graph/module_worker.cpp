// SPDX-License-Identifier: Apache-2.0
// What a thread does at the process of a module, where it is something else than for scripts.
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/kept_with.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/mapped_file.hpp"
#include "lib/os/process.hpp"
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

namespace {

// Servers of a run know each other some seconds after they have begun.
constexpr std::int64_t kServersAreKnownNs = 60'000'000'000;

}  // namespace

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
  if (!plan->host.empty()) why_not_ = prepare_host(*plan);
}

// In its place a program of ours is started, by which the host comes in. "" or why not.
std::string ScriptWorker::prepare_host(const ModulePlan& plan) {
  std::optional<Reductions::Place> place;
  for (const os::Deadline deadline = os::Deadline::in_ns(kServersAreKnownNs);
       !(place = context_.reductions.place()) && !deadline.passed();) {
    os::pause_shortly();
    const std::lock_guard<std::mutex> lock(board_.mutex);
    if (board_.closing) break;
  }
  const auto door = context_.doors.door(plan.host, place ? place->self : 0);
  if (!door) return door.error().message;
  const std::lock_guard<std::mutex> lock(board_.mutex);
  const double seconds = seat_.module->timeout_seconds();
  seat_.plan.command = {os::path_beside_program("leatd"), "--graph-host", "way-to-host", plan.name};
  seat_.plan.sockets = (*door)->sockets();
  (*seat_.plan.setup)["host"] = {
      {"name", plan.host},
      {"credential", (*door)->credential()},
      {"sockets", seat_.plan.sockets.size()},
      {"seconds", seconds},
      {"patience",
       plan.latest ? 0.0 : std::min(seconds, context_.model.architecture.timeout_seconds / 2)}};
  return "";
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

// While the turn is at work on another host the simulation has its memory back, when what goes there was copied.
void ScriptWorker::keep_apart(ScriptJob& job) {
  auto rest = std::make_shared<Iteration>();
  rest->number = job.iteration->number;
  rest->complete = job.iteration->complete;
  rest->parameters = job.iteration->parameters;
  const std::shared_ptr<const Iteration> iteration = std::move(rest);
  held_ = std::exchange(
      job, {kept_with(iteration, context_.pending.hold(iteration->number)), {}, job.module});
}

// Ranks wake it as they begin to idle. Its time is counted from there.
void ScriptWorker::await_idle_core(std::optional<IdleGate::Place>* place) {
  const Wanted wanted(context_.harvest->schedule);
  place->emplace(context_.harvest->gate, [this] {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    return board_.closing || board_.abandoned;
  });
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
