// SPDX-License-Identifier: Apache-2.0
#include "server/workers/script_worker.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "lib/base/kept_with.hpp"
#include "lib/comm/certificate.hpp"
#include "lib/model/checks.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/cores.hpp"
#include "server/workers/frames.hpp"
#include "server/workers/graph/modules.hpp"
#include "server/workers/script_reduction.hpp"
#include "server/workers/script_task.hpp"

namespace leat::server {
namespace {

// Imports of a script may take longer than its work.
constexpr double kLeastLoadSeconds = 120;
// A process that somebody kills or stops while it loads a script says nothing of the next one; one
// that the script itself kills does.
constexpr int kMostLoads = 5;
// The worker itself says where it is when its time is up; then it is ended.
constexpr double kGraceSeconds = 0.5;

// What an answer says of it.
ScriptFailure failure_in(const nlohmann::json& head) {
  return {text_in(head, "error"), text_in(head, "whole")};
}

}  // namespace

// What came before may be without what a function of it takes.
void ScriptWorker::is_known(Script& script) {
  for (const ScriptJob& job : script.waiting)
    if (job.early && job.published.empty()) context_.leave_reductions(script, job.content());
  script.is_known(os::now_ns());
}

void ScriptWorker::run() {
  Order order;
  while (next_order(&order)) {
    reap();
    if (order.kind == Order::Kind::load && seat_.module && is_replaced()) seat_.process.finish();
    const bool ran = ensure_runs();
    if (ran) carry_out(order);
    Script& script = *order.script;
    const std::lock_guard<std::mutex> lock(board_.mutex);
    if (!ran && order.job.iteration) script.leave_out(order.job.content());
    if (order.kind == Order::Kind::load) script.loading = false;
    if (order.kind == Order::Kind::load && !script.unknown()) is_known(script);
    order = {};
    seat_.running = nullptr;
    modules::settle(board_);
    board_.changed.notify_all();  // one that overran may go on now
    context_.wake();
  }
  seat_.process.finish();
}

// Of what may always run one process is kept free of scripts that overran.
bool ScriptWorker::may_run(const Script& script) const {
  if (script.must_load || script.removed) return true;
  if (!modules::have_room_behind(board_, script)) return false;
  if (!script.overran || script.stays()) return true;
  const auto overrunning =
      std::count_if(board_.seats.begin(), board_.seats.end(),
                    [](const auto& seat) { return seat->running && seat->running->overran; });
  const auto most =
      static_cast<std::ptrdiff_t>(ScriptBoard::kMostGrowth * context_.model.scripts.workers);
  return overrunning + 1 < most;
}

// The next thing to do at this process: of the scripts that have work, for the one whose last order
// is the oldest. So each has its turn, whatever the others do.
bool ScriptWorker::find_order(Order* order) {
  if (!seat_.moved_away.empty()) {
    *order = {Order::Kind::unload, seat_.moved_away.back(), {}};
    seat_.moved_away.pop_back();
    return true;
  }
  Script* next = nullptr;
  for (Script& script : board_.scripts) {
    if (script.worker != index_ || !script.has_work() || !may_run(script)) continue;
    if (!next || script.served < next->served) next = &script;
  }
  if (!next) return false;
  next->served = ++board_.orders;
  if (next->is_over() || next->must_load) {
    *order = {next->is_over() ? Order::Kind::unload : Order::Kind::load, next, {}};
    return true;
  }
  next->leave_backlog(os::now_ns());
  *order = {Order::Kind::run, next, std::move(next->waiting.front())};
  next->waiting.pop_front();
  return true;
}

bool ScriptWorker::next_order(Order* order) {
  std::unique_lock<std::mutex> lock(board_.mutex);
  board_.changed.wait(lock, [&] { return board_.closing || find_order(order); });
  if (!order->script) return false;
  seat_.running = order->script;
  seat_.running_since_ns = os::now_ns();
  seat_.running_iteration = order->job.iteration ? order->job.iteration->number : -1;
  if (order->kind == Order::Kind::load) {
    order->script->must_load = false;
    order->script->loading = true;
  }
  if (order->script->inputs) board_.changed.notify_all();  // there is room for one more
  return true;
}

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

// A process that ended between two orders: nobody's call has failed.
void ScriptWorker::reap() {
  if (!seat_.process.runs() || !seat_.process.has_ended()) return;
  const std::string how = seat_.process.end();
  process_died();
  if (seat_.module && how.starts_with("ended with status 0")) return module_is_done();
  context_.log->warn("a process of {} {}; another one is started",
                     seat_.module ? seat_.module->title() : "scripts", how);
}

void ScriptWorker::ensure_guard() {
  const std::string why = context_.guard.ensure();
  const std::lock_guard<std::mutex> lock(board_.mutex);
  if (!why.empty() && board_.said.insert(why).second)
    context_.log->warn("what scripts start would outlive a leatd that is killed: {}", why);
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

// Starts the process where it does not run. Without one, all its scripts are of no use.
bool ScriptWorker::ensure_runs() {
  if (seat_.process.runs()) return true;
  ensure_guard();
  if (seat_.module) prepare_module();
  const WorkerStart started = why_not_.empty() ? seat_.process.start() : WorkerStart{why_not_};
  const std::string& why = started.why;
  const std::lock_guard<std::mutex> lock(board_.mutex);
  if (why.empty()) {
    seat_.running_since_ns = os::now_ns();
    if (!board_.cpus.empty()) os::set_affinity_of_process(board_.cpus, seat_.process.pid());
    return true;
  }
  if (why_not_.empty() && board_.said.insert(why).second)
    context_.log->error("{} cannot run: {}", seat_.module ? seat_.module->title() : "scripts", why);
  if (!started.interfered) why_not_ = why;  // the next one would not start either
  for (Script& script : board_.scripts) {
    if (script.worker != index_) continue;
    script.give_up();
    script.functions.clear();
    script.counts.first_error.clear();  // that nothing runs is said before what a call did
    script.record_failure(brief(why.substr(0, why.find("; "))));  // what to do has been said
  }
  return false;
}

void ScriptWorker::carry_out(const Order& order) {
  Script& script = *order.script;
  switch (order.kind) {
    case Order::Kind::load: {
      const ScriptFailure failure = script.inputs ? load_module(script) : load(script);
      if (!failure.text.empty()) tell(context_, script, "", failure, "");
      return;
    }
    case Order::Kind::unload: {
      unload(script);
      return;
    }
    case Order::Kind::run: {
      {
        // What it wants is known only now for iterations that came while it was loaded.
        const std::lock_guard<std::mutex> lock(board_.mutex);
        if (!script.may_want(order.job.content())) return;
        if (script.must_load) return script.waiting.push_front(order.job);  // the process is new
      }
      record_call(context_, script, order.job.iteration->number, run_script(script, order.job));
      return;
    }
  }
}

// What its file does at the end of the run may take as long as a call.
void ScriptWorker::unload(Script& script) {
  if (script.inputs) {
    seat_.process.finish();
    const std::lock_guard<std::mutex> lock(board_.mutex);
    script.functions.clear();
    return;
  }
  const double seconds = script.ended ? script.timeout_seconds() : kLeastLoadSeconds;
  Frame answer;
  ScriptFailure failure = converse(script, {{{"kind", "unload"}, {"script", script.file.name}}, ""},
                                   seconds, nullptr, &answer);
  if (failure.text.empty()) failure = failure_in(answer.head);
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    if (!script.is_over()) return;  // it goes on in another process
    script.functions.clear();
    if (failure.text.empty()) return;
    script.record_failure(brief(failure.text));
  }
  tell(context_, script, ", at its end", failure, "");
}

// Its process has answered when it was started; what it takes and makes is in the plan.
ScriptFailure ScriptWorker::load_module(Script& script) {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  Frame plan{{{"functions", modules::functions_of(*script.file.module)}}, ""};
  script.fresh = false;
  loaded(script, plan);
  return failure_in(plan.head);
}

ScriptFailure ScriptWorker::load(Script& script) {
  Frame order, answer;
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    order = {{{"kind", "load"},
              {"script", script.file.name},
              {"path", script.file.path},
              {"foreign", foreign_words(*script.source, context_.model)},
              {"dask", dask_words(*script.source)},
              {"timeout", script.timeout_seconds()},
              {"fresh", script.fresh}},
             script.state};
  }
  const double seconds = std::max(kLeastLoadSeconds, script.timeout_seconds());
  const TracedTime time = context_.traced(script, -1, "load");
  ScriptFailure failure = converse(script, order, seconds, nullptr, &answer);
  const std::lock_guard<std::mutex> lock(board_.mutex);
  if (!failure.text.empty()) {  // the process did not survive it
    if (interfered_ && ++script.loads_in_a_row < kMostLoads) {
      script.must_load = true;
      failure.text = "while it was loaded, " + failure.text + "; it is loaded again";
      return failure;
    }
    script.give_up();
    script.functions.clear();
    script.record_failure(brief(failure.text));
    failure.text = "it could not be loaded: " + failure.text;
    return failure;
  }
  script.loads_in_a_row = 0;
  script.fresh = false;
  loaded(script, answer);
  return failure_in(answer.head);
}

// Why these and the others would make products of each other without end; "": they do not. With
// the lock.
std::string ScriptWorker::why_endless_with(const std::string& source,
                                           const std::vector<ScriptFunction>& functions) const {
  std::vector<model::ProductMaker> makers = model::makers_of(context_.model);
  const auto add = [&](const std::string& name, const std::vector<ScriptFunction>& all) {
    for (const ScriptFunction& each : all) makers.push_back({name, each.products, each.publishes});
  };
  add(source, functions);
  for (const Script& other : board_.scripts) {
    if (other.file.name != source && !other.removed) add(other.file.name, other.functions);
  }
  return model::why_endless(makers);
}

// Why a reduction of one of these could be taken for one of another function; "": it cannot. With the lock.
std::string ScriptWorker::why_channel_is_taken(const Script& script,
                                               const std::vector<ScriptFunction>& functions) const {
  const auto is_same = [](const std::string& a, const ScriptFunction& of_a, const std::string& b,
                          const ScriptFunction& of_b) {
    return (a != b || of_a.name != of_b.name) &&
           channel_of_script(a, of_a.name) == channel_of_script(b, of_b.name);
  };
  for (const ScriptFunction& function : functions) {
    for (const Script& other : board_.scripts) {
      const auto& others = &other == &script ? functions : other.functions;
      for (const ScriptFunction& each : others) {
        if (!other.removed && is_same(script.file.name, function, other.file.name, each))
          return fmt::format(
              "function {} cannot be told from {} of script \"{}\" in reductions over servers: "
              "give it another name",
              function.name, each.name, other.file.name);
      }
    }
  }
  return "";
}

// With an error the worker has the version from before, if there was one.
void ScriptWorker::loaded(Script& script, Frame& answer) {
  script.functions = functions_in(answer.head);
  std::string why = why_endless_with(script.file.name, script.functions);
  if (why.empty()) why = why_channel_is_taken(script, script.functions);
  if (!why.empty()) {
    script.functions.clear();
    answer.head["error"] = why;
  }
  const std::string error = text_in(answer.head, "error");
  const bool is_new = std::exchange(script.was_changed, false);
  if (error.empty()) {
    script.usable = true;
    if (is_new) script.failures_in_a_row = 0;
    return;
  }
  script.record_failure(brief(error));
  if (!script.functions.empty()) return;
  script.usable = false;  // not given up: it may have changed once more while it was loaded
  script.drop_waiting();
}

Frame ScriptWorker::order_for(const Script& script, const ScriptJob& job) const {
  const std::vector<Block> constants = context_.constants.blocks();
  if (!script.inputs)
    return run_order(script.file.name, job, constants, context_.segment_start, context_.model);
  return modules::order_of(job, constants, context_.segment_start, context_.model,
                           seat_.outputs->take_released());
}

ScriptFailure ScriptWorker::run_script(Script& script, const ScriptJob& job) {
  const Frame order = order_for(script, job);
  const TracedTime time = context_.traced(script, job.iteration->number);
  const std::int64_t began_ns = os::now_ns();
  const pid_t process = seat_.process.pid();
  const std::int64_t without_core_ns = os::without_core_ns(process);
  Frame answer;
  seat_.made.reset();
  ScriptFailure failure =
      converse(script, order, script.timeout_seconds(), job.iteration.get(), &answer);
  if (failure.text.empty()) failure = failure_in(answer.head);
  if (script.inputs && failure.text.empty()) hand_over_outputs(*job.iteration);
  if (script.inputs && member_of(answer.head, "ends") == true) end_of_failed_module();
  const std::int64_t took_ns = os::now_ns() - began_ns;
  const std::int64_t without_ns = os::without_core_ns(process) - without_core_ns;
  const std::lock_guard<std::mutex> lock(board_.mutex);
  script.counts.seconds += static_cast<double>(took_ns) * 1e-9;
  script.counts.without_core +=
      static_cast<double>(std::clamp<std::int64_t>(without_ns, 0, took_ns)) * 1e-9;
  if (seat_.process.runs()) script.overran = false;
  if (!answer.data.empty()) script.state = std::move(answer.data);
  return failure;
}

// It has said why, and needs no further word.
void ScriptWorker::end_of_failed_module() {
  seat_.process.await_end();
  seat_.process.end();
  process_died();
}

// Gives an order and takes what the worker says until the answer. Returns why there is none.
ScriptFailure ScriptWorker::converse(Script& script, const Frame& order, double seconds,
                                     const Iteration* iteration, Frame* answer) {
  const std::int64_t deadline_ns =
      os::now_ns() + static_cast<std::int64_t>((seconds + kGraceSeconds) * 1e9);
  FrameStatus status =
      seat_.process.send(order, deadline_ns) ? FrameStatus::frame : FrameStatus::ended;
  try {
    while (status == FrameStatus::frame) {
      status = seat_.process.receive(answer, deadline_ns);
      if (status != FrameStatus::frame) break;
      if (text_in(answer->head, "kind") == "answer") return {};
      if (const auto reply = reply_to(script, *answer, iteration, deadline_ns)) {
        if (!seat_.process.send(*reply, deadline_ns)) status = FrameStatus::ended;
      } else {
        take_message(script, *answer, iteration);
      }
      // One that talks without end is late too.
      if (os::now_ns() >= deadline_ns) status = FrameStatus::late;
    }
  } catch (const std::exception& e) {  // more than there is memory for
    context_.log->error("{}: what its process says cannot be taken: {}", script.title(), e.what());
  }
  if (script.inputs && status == FrameStatus::ended) seat_.process.await_end();
  const bool stopped = seat_.process.was_stopped();
  const bool late = status == FrameStatus::late || os::now_ns() >= deadline_ns;
  const std::string how = seat_.process.end();
  if (status == FrameStatus::malformed) {
    process_died();
    return {
        "its process said something to leatd that makes no sense, as when the script writes to "
        "descriptor 3, and was ended",
        seat_.process.all_last_words()};
  }
  if (script.inputs &&
      how.starts_with("ended with status 0")) {  // of its own will, after its last turn
    process_died();
    module_is_done();
    return {};
  }
  interfered_ = stopped || (!late && how.starts_with("was killed by signal 9"));
  process_died();
  if (stopped)
    return {fmt::format("its process was stopped for longer than {:g} s and was ended",
                        static_cast<double>(context_.plan.stop_limit_ns) * 1e-9),
            ""};
  ScriptFailure failure{"its process " + how, seat_.process.all_last_words()};
  if (late)
    failure.text = fmt::format("it took longer than {:g} s and was ended{}", seconds,
                               how.substr(std::min(how.find('\n'), how.size())));
  const std::lock_guard<std::mutex> lock(board_.mutex);
  script.overran = late;
  return failure;
}

// Its scripts are loaded into the next one.
void ScriptWorker::process_died() {
  context_.output.remove_dead_parts();
  const std::lock_guard<std::mutex> lock(board_.mutex);
  seat_.moved_away.clear();
  for (Script& script : board_.scripts) {
    if (board_.seats[script.worker].get() == &seat_ && !script.removed && script.usable)
      script.must_load = true;
  }
}

// With what a cluster of all servers secures its connections. A server that has the whole run has nobody to share a secret with.
Frame ScriptWorker::contact_frame(const Reductions::Contact& contact) {
  const Result<comm::Credential> credential = contact.credential.empty()
                                                  ? comm::Credential::make()
                                                  : comm::Credential::from_text(contact.credential);
  if (!credential) return not_reduced(credential.error().message);
  const Result<comm::Certificate> own = comm::certificate_of(*credential);
  if (!own) return not_reduced(own.error().message);
  return {{{"kind", "contact"},
           {"why", ""},
           {"authority", own->authority},
           {"certificate", own->certificate},
           {"key", own->key},
           {"addresses", contact.addresses}},
          ""};
}

// To what the script waits for; nothing to what it only tells.
std::optional<Frame> ScriptWorker::reply_to(Script& script, const Frame& message,
                                            const Iteration* iteration, std::int64_t deadline_ns) {
  const std::string kind = text_in(message.head, "kind");
  if (kind != "reduce" && kind != "place" && kind != "contact") return std::nullopt;
  // Sooner than its time is up, so that it is told in time, and is not ended.
  const auto grace_ns = static_cast<std::int64_t>(kGraceSeconds * 1e9);
  const std::int64_t left_ns = deadline_ns - os::now_ns();
  const std::int64_t until_ns = deadline_ns - std::min(2 * grace_ns, left_ns / 2);
  if (kind != "reduce") {
    const auto place = await_place(until_ns);
    if (!place) return not_reduced("the other servers of the run are not known in time", true);
    if (kind == "contact") return contact_frame(context_.reductions.contact());
    return Frame{{{"kind", "place"},
                  {"why", ""},
                  {"server", place->self},
                  {"servers", place->servers},
                  {"is_first", place->self == place->first}},
                 ""};
  }
  if (!iteration) return not_reduced("it is for calls with an iteration");
  try {
    return reduce(script, message, iteration->number, until_ns);
  } catch (const std::invalid_argument& e) {
    return not_reduced(e.what());
  }
}

std::optional<Reductions::Place> ScriptWorker::await_place(std::int64_t deadline_ns) {
  std::optional<Reductions::Place> place = context_.reductions.place();
  while (!place && os::now_ns() < deadline_ns && !seat_.process.has_ended()) {
    os::pause_shortly();
    place = context_.reductions.place();
  }
  return place;
}

Frame ScriptWorker::reduce(Script& script, const Frame& message, std::int64_t iteration,
                           std::int64_t deadline_ns) {
  constexpr std::uint32_t kMostCalls = 1 << 16;                   // as number_of() has room for
  constexpr std::int64_t kMostIteration = std::int64_t{1} << 46;  // the same
  const auto place = await_place(deadline_ns);
  if (!place) return not_reduced("the other servers of the run are not known in time", true);
  const comm::Columns own = columns_in(message, place->self);
  const std::string function = text_in(message.head, "function");
  comm::Round round{channel_of_script(script.file.name, function), 0};
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    ScriptReductions& before = script.reductions[function];
    if (iteration < before.iteration)
      return not_reduced(
          fmt::format("it was called with iteration {} when {} had reduced in iteration {}: "
                      "what is made of products that come late is of one server",
                      iteration, function, before.iteration));
    if (iteration > before.iteration) before = {iteration, 0};
    if (before.calls >= kMostCalls || iteration < 0 || iteration > kMostIteration)
      return not_reduced(
          "there are too many calls, or the iteration has a number beyond all bounds");
    round.number = number_of(iteration, static_cast<std::uint16_t>(before.calls++));
    seat_.awaits_servers = true;
  }
  const auto awaited = std::make_shared<AwaitedOutcome>();
  context_.reductions.contribute(
      round, own, [awaited](const comm::Outcome& outcome) { awaited->came(outcome); });
  const std::optional<comm::Outcome> outcome =
      awaited->await(deadline_ns, [this] { return seat_.process.has_ended(); });
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    seat_.awaits_servers = false;
  }
  if (outcome) return reduced(*outcome, own);
  return not_reduced(
      fmt::format(
          "the other servers of the run have not all come to iteration {} within the {:g} s of "
          "timeout=\"...\" that a call may take",
          iteration, script.timeout_seconds()),
      true);
}

void ScriptWorker::take_message(const Script& script, Frame& message, const Iteration* iteration) {
  const std::string kind = text_in(message.head, "kind");
  if (kind == "log") {
    context_.log->log(log_level_of(text_in(message.head, "level")), "{}: {}", script.title(),
                      text_in(message.head, "text"));
  } else if (kind == "results") {
    if (!iteration) return;
    if (script.inputs) return take_outputs(script, message, *iteration);
    take_products(script, message, *iteration);
  } else if (kind == "set") {
    context_.steering.ask({(script.inputs ? "module/" : "") + script.file.name,
                           text_in(message.head, "parameter"), value_in(message.head),
                           text_in(message.head, "scope") == "node"});
    context_.wake();
  }
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
  if (made.products.empty()) return;
  made.source = script.file.name;
  made.iteration = iteration.number;
  made.parameters = iteration.parameters;
  const std::string why = add_to(&seat_.made, std::move(made));
  if (!why.empty()) context_.log->error("{}: {}", script.title(), why);
}

void ScriptWorker::take_products(const Script& script, Frame& message, const Iteration& iteration) {
  struct Made {
    std::string data;
    std::shared_ptr<const void> pending;  // the iteration, until the stores have it
  };
  const auto made = std::make_shared<const Made>(
      Made{std::move(message.data), context_.pending.hold(iteration.number)});
  Publication published{Publication::Source::script,
                        script.file.name,
                        iteration.number,
                        products_in(message.head, made->data),
                        made,
                        iteration.parameters};
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    modules::give(board_, published);
  }
  context_.publish(std::move(published));
}

}  // namespace leat::server
