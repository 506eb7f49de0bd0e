// SPDX-License-Identifier: Apache-2.0
#include "server/workers/script_worker.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/model/checks.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/cores.hpp"
#include "server/workers/frames.hpp"
#include "server/workers/graph/modules.hpp"
#include "server/workers/script_task.hpp"

namespace leat::server {
namespace {

// Imports of a script may take longer than its work.
constexpr double kLeastLoadSeconds = 120;
// A process that somebody kills or stops while it loads a script says nothing of the next one; one
// that the script itself kills does.
constexpr int kMostLoads = 5;
// The way to another host looks at the time of a turn itself, and says how it was.
constexpr double kWayToHostSeconds = 5;

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
    if (!board_.cpus.empty())
      os::set_affinity_of_process(board_.cpus_of(seat_), seat_.process.pid());
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

void ScriptWorker::carry_out(Order& order) {
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

ScriptFailure ScriptWorker::run_script(Script& script, ScriptJob& job) {
  const Frame order = order_for(script, job);
  const bool is_on_host = job.module && !job.module->host.empty();
  if (is_on_host) keep_apart(job);
  std::optional<IdleGate::Place> place;
  if (job.module && job.module->harvest) await_idle_core(&place);
  const TracedTime time = context_.traced(script, job.iteration->number);
  const std::int64_t began_ns = os::now_ns();
  const pid_t process = seat_.process.pid();
  const std::int64_t without_core_ns = os::without_core_ns(process);
  Frame answer;
  seat_.made.reset();
  const double seconds = script.timeout_seconds() + (is_on_host ? kWayToHostSeconds : 0);
  ScriptFailure failure = converse(script, order, seconds, job.iteration.get(), &answer);
  place.reset();
  held_.reset();
  const bool has_answered = failure.text.empty();  // else what is there is what it said last
  if (has_answered) failure = failure_in(answer.head);
  if (script.inputs && failure.text.empty()) hand_over_outputs(*job.iteration);
  if (script.inputs && has_answered && member_of(answer.head, "ends") == true)
    end_of_failed_module();
  const std::int64_t took_ns = os::now_ns() - began_ns;
  const std::int64_t without_ns = os::without_core_ns(process) - without_core_ns;
  const std::lock_guard<std::mutex> lock(board_.mutex);
  script.counts.seconds += static_cast<double>(took_ns) * 1e-9;
  script.counts.without_core +=
      static_cast<double>(std::clamp<std::int64_t>(without_ns, 0, took_ns)) * 1e-9;
  if (!has_answered) return failure;
  script.overran = false;
  if (!answer.data.empty()) script.state = std::move(answer.data);
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

}  // namespace leat::server
