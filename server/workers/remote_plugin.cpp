// SPDX-License-Identifier: Apache-2.0
#include "server/workers/remote_plugin.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/model/words.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/cores.hpp"
#include "lib/os/process.hpp"
#include "server/workers/frames.hpp"
#include "server/workers/plugin_words.hpp"

namespace leat::server {
namespace {

// A call takes as long as it takes, as in the server.
constexpr std::int64_t kNoLimitNs = std::numeric_limits<std::int64_t>::max();
// With one call. Processes are killed for reasons that have nothing to do with what they do; a crash
// is the plugin's own.
constexpr int kMostKills = 8, kMostProcessCrashes = 2;
// Calls in a row.
constexpr int kMostFailures = 3;

WorkerPlan plugin_plan(const model::Model& model, std::uint32_t store, const WorkersRun& run) {
  WorkerPlan plan;
  plan.command = {os::path_beside_program("leat_plugin_worker"), model.stores[store].name};
  const model::Store& told = model.stores[store];
  plan.idle = told.runs != model::Schedule::coordinated;
  plan.cores = os::allowed_cpus().count();
  plan.stop_limit_ns = static_cast<std::int64_t>(model.architecture.timeout_seconds * 1e9);
  plan.setup =
      std::make_shared<nlohmann::json>(nlohmann::json{{"segment", run.segment.name()},
                                                      {"session", run.facts.session},
                                                      {"run_session", run.facts.run_session},
                                                      {"run_id", run.facts.run_id},
                                                      {"ranks", run.facts.ranks},
                                                      {"node_ranks", run.facts.node_ranks},
                                                      {"resumed", run.facts.resumed},
                                                      {"drained", run.facts.drained},
                                                      {"cores", plan.cores},
                                                      {"runs", model::word_of(told.runs)},
                                                      {"store", store}});
  return plan;
}

}  // namespace

RemotePlugin::RemotePlugin(const leat_plugin* plugin, const model::Model& model,
                           std::uint32_t store, const PluginView& view, WorkersRun run)
    : PluginInstance(plugin, model, store, view, run.log),
      workers_(std::move(run)),
      plan_(plugin_plan(model, store, workers_)),
      schedule_(schedule_apart(model.stores[store].runs, workers_.segment)) {
  work_.user = schedule_.get();
}

std::string RemotePlugin::do_open() {
  Frame answer;
  return ask({{{"kind", "nothing"}}, ""}, &answer);
}

// Starts the process where it does not run, and opens the plugin there. Returns why that cannot be;
// nothing when the process did not survive it.
std::optional<std::string> RemotePlugin::ensure_open() {
  if (process_.runs()) return "";
  if (was_open_) (*plan_.setup)["resumed"] = true;
  if (const WorkerStart start = process_.start(); !start.why.empty()) return start.why;
  Frame answer;
  if (!converse({{{"kind", "open"}, {"ranks", own_ranks_}}, ""}, &answer)) return {};
  std::string why = text_in(answer.head, "error");
  if (!why.empty()) process_.finish();
  was_open_ = was_open_ || why.empty();
  return why;
}

// Gives an order until a process survives it. Returns the plugin's error, or why there is none.
std::string RemotePlugin::ask(const Frame& order, Frame* answer) {
  std::string how = "was ended before, and is not started again";
  int kills = 0, crashes = 0;
  while (failures_in_a_row_ < kMostFailures && kills < kMostKills &&
         crashes < kMostProcessCrashes) {
    const std::optional<std::string> why = ensure_open();
    if (why && !why->empty()) return *why;
    if (why && converse(order, answer)) {
      failures_in_a_row_ = 0;
      return text_in(answer->head, "error");
    }
    const bool was_stopped = process_.was_stopped();
    how = process_.end();
    if (was_stopped) how = "was stopped for too long, and was ended";
    ++(was_stopped || how.starts_with("was killed by signal 9") ? kills : crashes);
    workers_.log->warn("store \"{}\": its process {}", store(), how);
  }
  if (++failures_in_a_row_ == kMostFailures)
    workers_.log->error(
        "store \"{}\": no process has survived {} calls in a row: it is not called any "
        "more",
        store(), kMostFailures);
  return "its process " + how;
}

// Takes what the process says until the answer. False when it is gone.
bool RemotePlugin::converse(const Frame& order, Frame* answer) {
  std::optional<Wanted> wanted;
  if (schedule_) wanted.emplace(*schedule_);
  if (!process_.send(order, kNoLimitNs)) return false;
  while (process_.receive(answer, kNoLimitNs) == FrameStatus::frame) {
    if (text_in(answer->head, "kind") != "answer") {
      take_message(*answer);
      continue;
    }
    if (schedule_) schedule_->take(*answer);
    return true;
  }
  return false;
}

void RemotePlugin::take_message(const Frame& message) {
  const std::string kind = text_in(message.head, "kind");
  const leat_host& abi = *host().abi();
  if (kind == "log") {
    workers_.log->log(log_level_of(text_in(message.head, "level")), "{}",
                      text_in(message.head, "text"));
  } else if (kind == "progress") {
    abi.progress(abi.context, 1);
  } else if (kind == "ledger") {
    process_.send({{{"text", abi.ledger(abi.context)}}, ""}, kNoLimitNs);
  }
}

std::string RemotePlugin::do_process(const Iteration& iteration, std::size_t waiting) {
  const std::int64_t begun_ns = os::now_ns();
  const shm::Segment& segment = workers_.segment;
  std::uint64_t bytes = 0;
  for (const Block& block : iteration.blocks)
    bytes += takes().variable(block.variable, iteration) ? block.bytes : 0;
  Frame answer;
  const std::vector<const Block*> constants = not_had(iteration);
  std::string error =
      ask(iteration_order(iteration, waiting,
                          [&](std::uint32_t v) { return takes().variable(v, iteration); },
                          constants, {segment.at<const char>(0), segment.header().segment_bytes}),
          &answer);
  const std::int64_t waited_ns = number_in(answer, "waited_ns");
  store_published(iteration.number, std::move(answer));
  work_.ns +=
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, os::now_ns() - begun_ns - waited_ns));
  if (takes().blocks_of(iteration)) ++work_.calls;
  if (error.empty()) {
    work_.bytes += bytes;
    note_had(iteration, constants);
  }
  return error;
}

std::string RemotePlugin::do_process(const Publication& publication,
                                     const std::vector<const Product*>& wanted) {
  const std::int64_t begun_ns = os::now_ns();
  Frame answer;
  std::string error = ask(products_order(publication, wanted), &answer);
  store_published(publication.iteration, std::move(answer));
  work_.ns += static_cast<std::uint64_t>(os::now_ns() - begun_ns);
  if (error.empty()) work_.products_taken += wanted.size();
  return error;
}

// Of the answer alone: what a process has published that did not survive its call never came here.
void RemotePlugin::store_published(std::int64_t iteration, Frame answer) {
  const auto data = std::make_shared<const std::string>(std::move(answer.data));
  Publication made{Publication::Source::plugin, store(), iteration, products_in(answer.head, *data),
                   data};
  published_.reset();
  if (made.products.empty()) return;
  work_.products_published += made.products.size();
  published_ = std::move(made);
}

std::optional<Publication> RemotePlugin::take_published() { return std::exchange(published_, {}); }

std::string RemotePlugin::do_close() {
  if (failures_in_a_row_ >= kMostFailures) return "";
  Frame answer;
  std::string error = ask({{{"kind", "close"}}, ""}, &answer);
  process_.finish();
  if (schedule_) workers_.log->info("store \"{}\": {}", store(), schedule_->report());
  return error;
}

}  // namespace leat::server
