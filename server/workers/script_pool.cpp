// SPDX-License-Identifier: Apache-2.0
#include "server/workers/script_pool.hpp"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/model/run_description.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"
#include "server/workers/graph/modules.hpp"
#include "server/workers/python/script_files.hpp"

namespace leat::server {
namespace {

// Of products that scripts have yet to take: beyond that the stores wait for those that need all.
constexpr std::uint64_t kMostProductBytes = 256ull << 20, kLeastProductBytes = 1024;
constexpr auto kLookForRoom = std::chrono::milliseconds(50);

// Its bytes are in the count until its last copy ends.
void count_bytes(Publication* publication, std::shared_ptr<std::atomic<std::uint64_t>> count) {
  std::uint64_t bytes = kLeastProductBytes;
  for (const Product& product : publication->products) bytes += product.bytes;
  *count += bytes;
  publication->memory = std::shared_ptr<const void>(
      publication->memory.get(),
      [bytes, count = std::move(count), memory = publication->memory](const void*) mutable {
        memory.reset();
        *count -= bytes;
      });
}

Content content_of(const ScriptBoard::News& news) {
  if (const auto* const iteration = std::get_if<Iteration>(&news.what))
    return server::content_of(*iteration);
  const Published& published = std::get<Published>(news.what);
  return server::content_of(published.all, {published.iteration, {}});
}

WorkerPlan plan_of(const Run& run, int constants_fd) {
  const model::Model& model = run.model;
  WorkerPlan plan;
  plan.command = {os::find_program(model.scripts.interpreter), python_launcher(), "worker"};
  plan.setup = std::make_shared<nlohmann::json>(model::to_json_for_scripts(model));
  nlohmann::json& setup = *plan.setup;
  setup["session"] = run.facts.session;
  setup["segment"] = run.segment.path();
  setup["ranks"] = run.facts.ranks;
  setup["node_ranks"] = run.facts.node_ranks;
  setup["has_all_ranks"] = run.facts.has_all_ranks();
  setup["run_id"] = run.facts.run_id;
  setup["memory"] = model.scripts.memory_bytes;
  setup["resumed"] = run.facts.resumed;
  plan.idle = model.scripts.runs == model::Schedule::idle;
  plan.cores =
      plan.idle ? os::allowed_cpus().count() : static_cast<int>(model.architecture.dedicated_cores);
  plan.constants_fd = constants_fd;
  plan.stop_limit_ns = static_cast<std::int64_t>(model.architecture.timeout_seconds * 1e9);
  return plan;
}

}  // namespace

ScriptPool::ScriptPool(const Run& run, Reductions& reductions,
                       std::function<void(Publication)> publish, std::function<void()> wake)
    : context_{
          run.model,
          run.log,
          run.executor,
          run.segment.at<char>(0),
          run.facts.resumed,
          std::move(publish),
          std::move(wake),
          reductions,
          ScriptOutput(run.model, run.facts, run.folder),
          PendingIterations(run.segment.server_state().scripts_pending),
          HostDoors(run.model.name, run.model.architecture.network.interface, run.facts.resumed),
          std::make_unique<HarvestOfModules>(run.segment, os::allowed_cpus().count())} {
  if (exists()) context_.plan = plan_of(run, context_.constants.descriptor());
  context_.trace = run.trace.get();
}

ScriptPool::~ScriptPool() {
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    board_.closing = true;
    board_.changed.notify_all();
  }
  if (dispatcher_.joinable()) dispatcher_.join();
  for (const auto& seat : board_.seats) seat->thread.join();
}

void ScriptPool::start() {
  if (!exists()) return;
  dispatcher_ = context_.executor.run("leat scripts", Executor::Urgency::behind_others,
                                      [this] { hand_out_.run(); });
}

void ScriptPool::submit(const Iteration& iteration) {
  if (!exists()) return;
  const std::lock_guard<std::mutex> lock(board_.mutex);
  board_.inbox.push_back({iteration, context_.pending.hold(iteration.number)});
  board_.changed.notify_all();
}

// Data are copied, and only where a script may take them: a plugin's own memory is to be free when
// the plugin is closed, whatever scripts do.
void ScriptPool::submit(std::int64_t iteration, const std::vector<Publication>& published,
                        bool by_stores) {
  if (!exists()) return;
  Published news{iteration, by_stores};
  for (const Publication& each : published) {
    if (!somebody_may_take(each)) continue;
    news.all.push_back(each);
    if (each.kind == Publication::Source::plugin)
      news.all.back().memory = copy_data(&news.all.back().products);
    count_bytes(&news.all.back(), board_.product_bytes);
  }
  const bool is_empty = news.all.empty();
  std::unique_lock<std::mutex> lock(board_.mutex);
  if (is_empty && !(by_stores && is_expected(iteration))) return;
  board_.inbox.push_back({std::move(news), context_.pending.hold(iteration)});
  board_.changed.notify_all();
  if (is_empty) return;
  const auto has_room = [this] {
    return board_.closing || board_.abandoned || *board_.product_bytes < kMostProductBytes ||
           !somebody_needs_all();
  };
  while (!has_room()) board_.changed.wait_for(lock, kLookForRoom);
  if (*board_.product_bytes >= kMostProductBytes) leave_inbox_out();
}

// With the lock: a script keeps the iteration until it is known what is made of it, or may do so.
bool ScriptPool::is_expected(std::int64_t iteration) const {
  return board_.handing_out || !board_.inbox.empty() ||
         std::any_of(board_.scripts.begin(), board_.scripts.end(), [&](const Script& script) {
           return script.expecting.count(iteration) > 0 ||
                  (script.inputs && script.inputs->awaits_stores(iteration));
         });
}

// With the lock. Before the first look at the folders there may be a script in each.
bool ScriptPool::somebody_needs_all() const {
  const std::vector<model::ScriptSource>& sources = context_.model.scripts.sources;
  const auto waits = [](const model::ScriptSource& source) { return source.waits; };
  return (!board_.have_looked && std::any_of(sources.begin(), sources.end(), waits)) ||
         std::any_of(board_.scripts.begin(), board_.scripts.end(),
                     [](const Script& script) { return script.waits(); });
}

bool ScriptPool::somebody_may_take(const Publication& publication) const {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  const auto takes = [&](const ScriptFunction& function) {
    return !wanted_of(publication, function.products).empty();
  };
  return !board_.have_looked ||
         std::any_of(board_.scripts.begin(), board_.scripts.end(), [&](const Script& script) {
           return script.unknown() ||
                  std::any_of(script.functions.begin(), script.functions.end(), takes);
         });
}

bool ScriptPool::idle() const {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  return board_.inbox.empty() && !board_.handing_out &&
         std::all_of(board_.scripts.begin(), board_.scripts.end(),
                     [](const Script& script) { return script.waiting.empty(); }) &&
         std::all_of(board_.seats.begin(), board_.seats.end(),
                     [](const auto& seat) { return seat->running == nullptr; });
}

bool ScriptPool::end_executions() {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  for (Script& script : board_.scripts) {
    if (script.is_executed_once() && !script.must_load) script.ended = true;
  }
  board_.changed.notify_all();
  return std::none_of(board_.scripts.begin(), board_.scripts.end(),
                      [](const Script& script) { return script.ended && script.has_work(); }) &&
         std::all_of(board_.seats.begin(), board_.seats.end(),
                     [](const auto& seat) { return seat->running == nullptr; });
}

// What other scripts make of an iteration comes as long as one of them has it.
bool ScriptPool::may_reduce(std::uint64_t channel, std::int64_t first, std::int64_t last) const {
  if (!exists()) return false;
  const std::lock_guard<std::mutex> lock(board_.mutex);
  const auto is_of = [first, last](const ScriptBoard::News& news) {
    const std::int64_t iteration = content_of(news).number;
    return iteration >= first && iteration <= last;
  };
  if (board_.handing_out || std::any_of(board_.inbox.begin(), board_.inbox.end(), is_of))
    return true;
  for (const Script& script : board_.scripts) {
    const auto reduces = [&](const ScriptFunction& function) {
      return channel_of_script(script.file.name, function.name) == channel;
    };
    const auto function = std::find_if(script.functions.begin(), script.functions.end(), reduces);
    if (function == script.functions.end()) continue;
    if (!function->products.empty()) break;
    const auto runs = [&](const auto& seat) {
      return seat->running == &script && seat->running_iteration >= first &&
             seat->running_iteration <= last;
    };
    return script.waits_for(first, last) ||
           std::any_of(board_.seats.begin(), board_.seats.end(), runs);
  }
  return context_.pending.has(first, last);
}

void ScriptPool::leave_inbox_out() {
  for (const ScriptBoard::News& news : board_.inbox) {
    const auto* const published = std::get_if<Published>(&news.what);
    if (published && published->all.empty()) {
      for (Script& script : board_.scripts) script.take(*published, news.pending);
      continue;
    }
    const Content content = content_of(news);
    if (!board_.have_looked) board_.before_first_look.push_back(content);
    for (Script& script : board_.scripts) script.leave_out(content);
  }
  board_.inbox.clear();
}

bool ScriptPool::are_new() const {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  return !board_.have_looked ||
         std::any_of(board_.scripts.begin(), board_.scripts.end(),
                     [now_ns = os::now_ns()](const Script& s) { return s.is_new(now_ns); });
}

void ScriptPool::let_go_for_memory() {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  for (Script& script : board_.scripts) {
    if (!script.waits()) script.drop_waiting();
  }
  modules::settle(board_);
  // What is not handed out: the disk with the scripts hangs, for example.
  if (!somebody_needs_all()) leave_inbox_out();
}

void ScriptPool::abandon() {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  board_.abandoned = true;
  board_.changed.notify_all();
  leave_inbox_out();
  for (Script& script : board_.scripts) script.drop_waiting();
  for (const auto& seat : board_.seats) {
    if (seat->running && seat->process.runs()) kill(seat->process.pid(), SIGKILL);
  }
}

std::vector<SteeringRequest> ScriptPool::take_steering() {
  if (!exists()) return {};  // asked on each turn of the event loop
  return context_.steering.take();
}

void ScriptPool::record_steering(const AuditEntry& entry) {
  if (!exists()) return;  // nobody writes it
  context_.steering.note(entry);
  const std::lock_guard<std::mutex> lock(board_.mutex);
  board_.changed.notify_all();
}

void ScriptPool::place(const os::CpuSet& cpus) {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  const bool idle = context_.model.scripts.runs == model::Schedule::idle;
  board_.cpus = idle ? os::allowed_cpus() : cpus;
  for (const auto& seat : board_.seats) {
    if (seat->process.runs())
      os::set_affinity_of_process(board_.cpus_of(*seat), seat->process.pid());
  }
}

std::map<std::string, ScriptFate> ScriptPool::fates() const {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  std::map<std::string, ScriptFate> fates;
  for (const Script& script : board_.scripts) {
    ScriptFate& fate = fates[script.file.name];
    fate.calls += script.counts.calls;
    fate.failed += script.counts.failed;
    fate.skipped += script.left_out();
    if (fate.why.empty()) fate.why = script.why();
    fate.is_module = script.inputs != nullptr;
  }
  return fates;
}

std::vector<ScriptMetrics> ScriptPool::metrics() const {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  std::vector<ScriptMetrics> all;
  for (const Script& script : board_.scripts) {
    const ScriptCounts& counts = script.counts;
    if (script.removed) continue;
    all.push_back({script.file.name,
                   {counts.calls, counts.failed, script.left_out(), counts.first_error,
                    script.inputs != nullptr},
                   counts.seconds,
                   counts.without_core,
                   script.waiting.size(),
                   script.usable});
  }
  return all;
}

void ScriptPool::reload() {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  for (Script& script : board_.scripts) {
    if (script.removed) continue;
    script.must_load = script.was_changed = script.usable = true;
    script.counts.told.clear();
  }
  board_.changed.notify_all();
}

std::uint64_t ScriptPool::trouble() const {
  if (!exists()) return 0;
  const std::lock_guard<std::mutex> lock(board_.mutex);
  std::uint64_t trouble = board_.before_first_look.size();
  for (const Script& script : board_.scripts) trouble += script.counts.failed + script.left_out();
  return trouble;
}

std::vector<std::string> ScriptPool::report() const {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  std::vector<std::string> lines;
  for (const Script& script : board_.scripts) {
    const ScriptCounts& counts = script.counts;
    std::string text = fmt::format("{}: {}, {:.3g} s", script.title(),
                                   counted(counts.calls, "call"), counts.seconds);
    if (const std::uint64_t left_out = script.left_out(); left_out > 0)
      text += ", " + counted(left_out, "iteration") + " skipped";
    if (counts.failed > 0) text += fmt::format(", {} FAILED", counts.failed);
    if (counts.failed > 0 && counts.calls > 0) text += ": " + counts.first_error;
    if (!script.usable && !script.removed) text += "; not called any more";
    lines.push_back(std::move(text));
  }
  const bool is_harvested = std::any_of(
      board_.scripts.begin(), board_.scripts.end(),
      [](const Script& script) { return script.file.module && script.file.module->harvest; });
  if (is_harvested) lines.push_back("modules of place \"harvest\": " + context_.harvest->report());
  return lines;
}

std::string ScriptPool::never_looked() const {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  if (board_.before_first_look.empty()) return "";
  return fmt::format("scripts: {} iterations skipped before their folders could be read",
                     board_.before_first_look.size());
}

std::string ScriptPool::slowest() const {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  std::string text;
  std::int64_t longest_ns = 1'000'000'000;
  for (const auto& seat : board_.seats) {
    if (!seat->running || seat->running_iteration < 0) continue;
    const std::int64_t since_ns = os::now_ns() - seat->running_since_ns;
    if (since_ns < longest_ns) continue;
    longest_ns = since_ns;
    text = fmt::format("{} has held iteration {} for {} s", seat->running->title(),
                       seat->running_iteration, since_ns / 1'000'000'000);
  }
  return text;
}

}  // namespace leat::server
