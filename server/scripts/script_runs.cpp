// SPDX-License-Identifier: Apache-2.0
// ScriptPool: what one thread does at its process.
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "lib/platform/clock.hpp"
#include "server/scripts/part_files.hpp"
#include "server/scripts/script_pool.hpp"
#include "server/scripts/task.hpp"
#include "server/scripts/worker_words.hpp"

namespace leat::server {
namespace {

// Imports of a script may take longer than its work.
constexpr double kLeastLoadSeconds = 120;
// The worker itself says where it is when its time is up; then it is ended.
constexpr double kGraceSeconds = 0.5;

// Of a traceback the last line, which says what was wrong; else the first.
std::string brief(const std::string& text) {
  if (!text.starts_with("Traceback")) return text.substr(0, text.find('\n'));
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin + 1, end - begin);
}

}  // namespace

void ScriptPool::work(Worker& worker, std::size_t index) {
  Order order;
  while (next_order(worker, index, &order)) {
    bury(worker);
    if (ensure_runs(worker, index)) carry_out(worker, order);
    Script* const script = order.script;
    order = {};
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(script->loading, false)) script->has_started(platform::now_ns());
    worker.running = nullptr;
    wake_();
  }
  worker.process.finish();
}

// The next thing to do at this process: what has changed on disk first, then the oldest iteration.
bool ScriptPool::next_order(Worker& worker, std::size_t index, Order* order) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto find = [&]() -> bool {
    Script* oldest = nullptr;
    for (Script& script : scripts_) {
      if (script.worker != index) continue;
      if (script.must_load && !script.removed) {
        *order = {Order::Kind::load, &script, {}};
        return true;
      }
      if (script.removed && !script.functions.empty()) {
        *order = {Order::Kind::unload, &script, {}};
        return true;
      }
      script.leave_backlog(platform::now_ns());
      if (script.waiting.empty()) continue;
      if (!oldest ||
          script.waiting.front().iteration->number < oldest->waiting.front().iteration->number)
        oldest = &script;
    }
    if (!oldest) return false;
    *order = {Order::Kind::run, oldest, std::move(oldest->waiting.front())};
    oldest->waiting.pop_front();
    return true;
  };
  changed_.wait(lock, [&] { return closing_ || find(); });
  if (!order->script) return false;
  worker.running = order->script;
  worker.running_since_ns = platform::now_ns();
  worker.running_iteration = order->job.iteration ? order->job.iteration->number : -1;
  if (order->kind == Order::Kind::load) {
    order->script->must_load = false;
    order->script->loading = true;
  }
  return true;
}

// A process that ended between two orders: nobody's call has failed.
void ScriptPool::bury(Worker& worker) {
  if (!worker.process.runs() || !worker.process.has_ended()) return;
  log_->warn("a process of scripts {}; another one is started", worker.process.end());
  process_died(worker);
}

// Starts the process where it does not run. Without one, all its scripts are of no use.
bool ScriptPool::ensure_runs(Worker& worker, std::size_t index) {
  if (worker.process.runs()) return true;
  const std::string why = worker.why_not.empty() ? worker.process.start() : worker.why_not;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (why.empty()) {
    if (!cpus_.empty()) platform::set_affinity(cpus_, worker.process.pid());
    return true;
  }
  if (worker.why_not.empty() && problems_.insert(why).second)
    log_->error("scripts cannot run: {}", why);
  worker.why_not = why;
  for (Script& script : scripts_) {
    if (script.worker != index) continue;
    script.functions.clear();
    script.give_up();
    script.counts.first_error.clear();  // that nothing runs is said before what a call did
    script.note_failure(brief(why));
  }
  return false;
}

void ScriptPool::carry_out(Worker& worker, const Order& order) {
  Script& script = *order.script;
  switch (order.kind) {
    case Order::Kind::load: {
      const std::string error = load(worker, script);
      if (!error.empty()) log_->error("script \"{}\": {}", script.file.name, error);
      return;
    }
    case Order::Kind::unload: {
      Frame answer;
      converse(worker, script, {{{"kind", "unload"}, {"script", script.file.name}}, ""},
               kLeastLoadSeconds, -1, &answer);
      const std::lock_guard<std::mutex> lock(mutex_);
      script.functions.clear();
      return;
    }
    case Order::Kind::run: {
      {
        // What it wants is known only now for iterations that came while it was loaded.
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!script.may_want(*order.job.iteration)) return;
        if (script.must_load) return script.waiting.push_front(order.job);  // the process is new
      }
      done(order, run(worker, script, *order.job.iteration));
      return;
    }
  }
}

std::string ScriptPool::load(Worker& worker, Script& script) {
  Frame order, answer;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    order = {{{"kind", "load"},
              {"script", script.file.name},
              {"path", script.file.path},
              {"timeout", script.source->timeout_seconds},
              {"fresh", std::exchange(script.fresh, false)}},
             script.state};
  }
  const double seconds = std::max(kLeastLoadSeconds, script.source->timeout_seconds);
  const std::string error = converse(worker, script, order, seconds, -1, &answer);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!error.empty()) {  // the process did not survive it
    script.functions.clear();
    script.give_up();
    script.note_failure(brief(error));
    return "it could not be loaded: " + error;
  }
  loaded(script, answer);
  return text_in(answer.head, "error");
}

// With an error the worker has the version from before, if there was one.
void ScriptPool::loaded(Script& script, const Frame& answer) {
  const std::string error = text_in(answer.head, "error");
  script.functions = functions_in(answer.head);
  const bool is_new = std::exchange(script.was_changed, false);
  if (error.empty()) {
    script.usable = true;
    if (is_new) script.failures_in_a_row = 0;
    return;
  }
  script.note_failure(brief(error));
  if (!script.functions.empty()) return;
  script.usable = false;  // not given up: it may have changed once more while it was loaded
  script.drop_waiting();
}

std::string ScriptPool::run(Worker& worker, Script& script, const Iteration& iteration) {
  const Frame order =
      run_order(script.file.name, iteration, constants_.blocks(), segment_start_, model_);
  const std::int64_t began_ns = platform::now_ns();
  Frame answer;
  std::string error =
      converse(worker, script, order, script.source->timeout_seconds, iteration.number, &answer);
  const std::lock_guard<std::mutex> lock(mutex_);
  script.counts.seconds += static_cast<double>(platform::now_ns() - began_ns) * 1e-9;
  if (!error.empty()) return error;
  if (!answer.data.empty()) script.state = std::move(answer.data);
  return text_in(answer.head, "error");
}

// Gives an order and takes what the worker says until the answer. Returns why there is none.
std::string ScriptPool::converse(Worker& worker, Script& script, const Frame& order, double seconds,
                                 std::int64_t iteration, Frame* answer) {
  const std::int64_t deadline_ns =
      platform::now_ns() + static_cast<std::int64_t>((seconds + kGraceSeconds) * 1e9);
  FrameStatus status =
      worker.process.send(order, deadline_ns) ? FrameStatus::frame : FrameStatus::ended;
  try {
    while (status == FrameStatus::frame) {
      status = worker.process.receive(answer, deadline_ns);
      if (status != FrameStatus::frame) break;
      if (text_in(answer->head, "kind") == "answer") return "";
      take_message(script, *answer, iteration);
      // One that talks without end is late too.
      if (platform::now_ns() >= deadline_ns) status = FrameStatus::late;
    }
  } catch (const std::exception& e) {  // more than there is memory for
    log_->error("script \"{}\": what its process says cannot be taken: {}", script.file.name,
                e.what());
  }
  const bool late = status == FrameStatus::late || platform::now_ns() >= deadline_ns;
  const std::string how = worker.process.end();
  process_died(worker);
  return late ? fmt::format("it took longer than {:g} s and was ended{}", seconds,
                            how.substr(std::min(how.find('\n'), how.size())))
              : "its process " + how;
}

// Its scripts are loaded into the next one.
void ScriptPool::process_died(Worker& worker) {
  remove_dead_parts(output_);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Script& script : scripts_) {
    if (workers_[script.worker].get() == &worker && !script.removed && script.usable)
      script.must_load = true;
  }
}

void ScriptPool::take_message(const Script& script, Frame& message, std::int64_t iteration) {
  const std::string kind = text_in(message.head, "kind");
  if (kind == "log") {
    const auto level = spdlog::level::from_str(text_in(message.head, "level", "info"));
    log_->log(level, "script \"{}\": {}", script.file.name, text_in(message.head, "text"));
  } else if (kind == "results") {
    take_results(script, message, iteration);
  } else if (kind == "set") {
    const std::lock_guard<std::mutex> lock(mutex_);
    steering_.push_back(
        {script.file.name, text_in(message.head, "parameter"), value_in(message.head)});
    wake_();
  }
}

void ScriptPool::take_results(const Script& script, Frame& message, std::int64_t iteration) {
  ScriptResults results;
  results.script = script.file.name;
  results.iteration = iteration;
  results.arrays = arrays_in(message.head, message.data.size());
  results.data = std::move(message.data);
  store_(std::move(results));
}

void ScriptPool::done(const Order& order, const std::string& error) {
  Script& script = *order.script;
  std::string stopped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++script.counts.calls;
    if (error.empty()) {
      script.failures_in_a_row = 0;
      return;
    }
    script.note_failure(brief(error));
    if (++script.failures_in_a_row >= script.source->failures) {
      script.give_up();
      stopped = fmt::format(
          "\nThat was failure {} in a row: it is not called any more. Edit the file to try again.",
          script.failures_in_a_row);
    }
  }
  log_->error("script \"{}\", iteration {}: {}{}", script.file.name, order.job.iteration->number,
              error, stopped);
}

}  // namespace leat::server
