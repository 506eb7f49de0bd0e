// SPDX-License-Identifier: Apache-2.0
// What the event loop calls. Iterations are handed out in script_hand_out.cpp; what happens at a
// process is in script_runs.cpp.
#include "server/scripts/script_pool.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/platform/clock.hpp"
#include "lib/platform/process.hpp"
#include "server/scripts/frame.hpp"
#include "server/scripts/model_json.hpp"
#include "server/scripts/python_tools.hpp"

namespace leat::server {
namespace {

// Each node has scripts of its own, and on a shared disk it needs a folder of its own.
std::string output_folder(const ScriptPoolParts& parts) {
  const bool of_several_nodes = parts.ranks > parts.node_ranks;
  const std::string folder = parts.model.scripts.output;
  return std::filesystem::absolute(of_several_nodes && has_default_output(parts.model)
                                       ? folder + "-" + platform::host_name()
                                       : folder)
      .string();
}

WorkerPlan plan_of(const ScriptPoolParts& parts, int constants_fd) {
  const model::Scripts& scripts = parts.model.scripts;
  WorkerPlan plan;
  plan.interpreter = platform::find_program(scripts.interpreter);
  plan.launcher = python_launcher();
  plan.setup = std::make_shared<nlohmann::json>(model_as_json(parts.model));
  nlohmann::json& setup = *plan.setup;
  setup["session"] = parts.session;
  setup["segment"] = parts.segment_path;
  setup["ranks"] = parts.ranks;
  setup["memory"] = scripts.memory_bytes;
  setup["output"] = output_folder(parts);
  setup["resumed"] = parts.resumed;
  plan.cores = static_cast<int>(parts.model.architecture.dedicated_cores);
  plan.constants_fd = constants_fd;
  plan.stop_limit_ns = static_cast<std::int64_t>(parts.model.architecture.timeout_seconds * 1e9);
  return plan;
}

}  // namespace

ScriptPool::ScriptPool(ScriptPoolParts parts)
    : model_(parts.model),
      log_(parts.log),
      segment_start_(static_cast<const char*>(parts.segment_start)),
      resumed_(parts.resumed),
      store_(std::move(parts.store)),
      wake_(std::move(parts.wake)),
      session_(parts.session) {
  if (!exists()) return;
  plan_ = plan_of(parts, constants_.descriptor());
  output_ = output_folder(parts);
}

ScriptPool::~ScriptPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (dispatcher_.joinable()) dispatcher_.join();
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

void ScriptPool::start() {
  if (!exists()) return;
  dispatcher_ = std::thread([this] { hand_out(); });
}

void ScriptPool::submit(const Iteration& iteration) {
  if (!exists()) return;
  auto copy = std::make_shared<const Iteration>(iteration);
  const std::lock_guard<std::mutex> lock(mutex_);
  inbox_.push_back(std::move(copy));
  changed_.notify_all();
}

bool ScriptPool::idle() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return inbox_.empty() && !handing_out_ &&
         std::all_of(scripts_.begin(), scripts_.end(),
                     [](const Script& script) { return script.waiting.empty(); }) &&
         std::all_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->running == nullptr; });
}

void ScriptPool::leave_inbox_out() {
  for (const auto& iteration : inbox_) {
    const WrittenVariables written = written_in(*iteration);
    if (!have_looked_) before_first_look_.push_back(written);
    for (Script& script : scripts_) script.leave_out(written);
  }
  inbox_.clear();
}

void ScriptPool::let_go_for_memory() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::vector<model::ScriptSource>& sources = model_.scripts.sources;
  // Before the first look at the folders there may be a script in each.
  bool somebody_needs_all =
      !have_looked_ && std::any_of(sources.begin(), sources.end(),
                                   [](const model::ScriptSource& source) { return source.waits; });
  for (Script& script : scripts_) {
    somebody_needs_all |= script.source->waits;
    if (!script.source->waits) script.drop_waiting();
  }
  // What is not handed out: the disk with the scripts hangs, for example.
  if (!somebody_needs_all) leave_inbox_out();
}

void ScriptPool::abandon() {
  const std::lock_guard<std::mutex> lock(mutex_);
  leave_inbox_out();
  for (Script& script : scripts_) script.drop_waiting();
  for (const auto& worker : workers_) {
    if (worker->running && worker->process.runs()) kill(worker->process.pid(), SIGKILL);
  }
}

std::vector<SteeringRequest> ScriptPool::take_steering() {
  if (!exists()) return {};  // asked on each turn of the event loop
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(steering_, {});
}

void ScriptPool::note_steering(const AuditEntry& entry) {
  if (!exists()) return;  // nobody writes it
  const std::lock_guard<std::mutex> lock(mutex_);
  audit_.push_back(entry);
  changed_.notify_all();
}

void ScriptPool::place(const platform::CpuSet& cpus) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cpus_ = cpus;
  for (const auto& worker : workers_) {
    if (worker->process.runs()) platform::set_affinity_of_process(cpus, worker->process.pid());
  }
}

std::map<std::string, ScriptFate> ScriptPool::fates() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::map<std::string, ScriptFate> fates;
  for (const Script& script : scripts_) {
    ScriptFate& fate = fates[script.file.name];
    fate.calls += script.counts.calls;
    fate.failed += script.counts.failed;
    fate.skipped += script.left_out();
    if (fate.why.empty()) fate.why = script.counts.first_error;
  }
  return fates;
}

std::vector<ScriptMetrics> ScriptPool::metrics() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<ScriptMetrics> all;
  for (const Script& script : scripts_) {
    const ScriptCounts& counts = script.counts;
    if (script.removed) continue;
    all.push_back({script.file.name,
                   {counts.calls, counts.failed, script.left_out(), counts.first_error},
                   counts.seconds,
                   script.waiting.size(),
                   script.usable});
  }
  return all;
}

void ScriptPool::reload() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Script& script : scripts_) {
    if (script.removed) continue;
    script.must_load = script.was_changed = script.usable = true;
    script.counts.told.clear();
  }
  changed_.notify_all();
}

std::uint64_t ScriptPool::trouble() const {
  if (!exists()) return 0;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::uint64_t trouble = before_first_look_.size();
  for (const Script& script : scripts_) trouble += script.counts.failed + script.left_out();
  return trouble;
}

std::vector<std::string> ScriptPool::report() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> lines;
  if (!before_first_look_.empty()) {
    lines.push_back(
        fmt::format("scripts: {} iterations left out before their folders could be read",
                    before_first_look_.size()));
  }
  for (const Script& script : scripts_) {
    const ScriptCounts& counts = script.counts;
    std::string text = fmt::format("script \"{}\": {} call{}, {:.3g} s", script.file.name,
                                   counts.calls, counts.calls == 1 ? "" : "s", counts.seconds);
    if (const std::uint64_t left_out = script.left_out(); left_out > 0)
      text += fmt::format(", {} iteration{} left out", left_out, left_out == 1 ? "" : "s");
    if (counts.failed > 0)
      text += fmt::format(", {} FAILED: {}", counts.failed, counts.first_error);
    if (!script.usable && !script.removed) text += "; not called any more";
    lines.push_back(std::move(text));
  }
  return lines;
}

std::string ScriptPool::slowest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string text;
  std::int64_t longest_ns = 1'000'000'000;
  for (const auto& worker : workers_) {
    if (!worker->running || worker->running_iteration < 0) continue;
    const std::int64_t since_ns = platform::now_ns() - worker->running_since_ns;
    if (since_ns < longest_ns) continue;
    longest_ns = since_ns;
    text = fmt::format("script \"{}\" has held iteration {} for {} s", worker->running->file.name,
                       worker->running_iteration, since_ns / 1'000'000'000);
  }
  return text;
}

}  // namespace leat::server
