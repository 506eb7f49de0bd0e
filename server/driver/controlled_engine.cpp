// SPDX-License-Identifier: Apache-2.0
#include "server/driver/controlled_engine.hpp"

#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <utility>

#include "lib/control/run_json.hpp"
#include "lib/model/run_description.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"

namespace leat::control {
namespace {

using server::IterationEvent;
using server::Metrics;

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  char text[64] = "";
  if (localtime_r(&now, &local)) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &local);
  return text;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* name_of(IterationEvent::Kind kind) {
  switch (kind) {
    case IterationEvent::Kind::open:
      return "open";
    case IterationEvent::Kind::complete:
      return "complete";
    case IterationEvent::Kind::stored:
      return "stored";
    case IterationEvent::Kind::failed:
      return "failed";
    case IterationEvent::Kind::skipped:
      return "skipped";
    case IterationEvent::Kind::dropped:
      return "dropped";
    case IterationEvent::Kind::steered:
      return "steered";
    case IterationEvent::Kind::signalled:
      return "signalled";
  }
  return "unknown";
}

Json json_of(const IterationEvent& event) {
  Json facts{{"iteration", event.iteration}};
  switch (event.kind) {
    case IterationEvent::Kind::open:
      break;
    case IterationEvent::Kind::complete:
      facts["bytes"] = event.bytes;
      break;
    case IterationEvent::Kind::stored:
    case IterationEvent::Kind::skipped:
      facts["store"] = event.subject;
      break;
    case IterationEvent::Kind::failed:
      facts["store"] = event.subject;
      facts["why"] = event.text;
      break;
    case IterationEvent::Kind::dropped:
      facts["why"] = event.text;
      break;
    case IterationEvent::Kind::steered:
      facts["parameter"] = event.subject;
      facts["value"] = event.text;
      facts["who"] = event.who;
      if (event.is_set_too) facts["simulation_sets_it"] = true;
      break;
    case IterationEvent::Kind::signalled:
      facts["signal"] = event.subject;
      if (event.rank >= 0) facts["rank"] = event.rank;
      if (event.times > 1) facts["times"] = event.times;
      break;
  }
  return facts;
}

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

Json json_of_script_metrics(const Metrics& metrics) {
  Json scripts = Json::array();
  for (const server::ScriptMetrics& each : metrics.scripts)
    scripts.push_back({{"name", each.name},
                       {"calls", each.fate.calls},
                       {"failed", each.fate.failed},
                       {"skipped", each.fate.skipped},
                       {"seconds", each.seconds},
                       {"waiting", each.waiting},
                       {"usable", each.usable}});
  return scripts;
}

Json json_of_store_metrics(const Metrics& metrics) {
  Json stores = Json::array();
  for (const Metrics::Store& each : metrics.stores) {
    stores.push_back({{"name", each.name},
                      {"calls", each.calls},
                      {"bytes", each.bytes},
                      {"skipped", each.skipped},
                      {"seconds", each.seconds},
                      {"products_taken", each.products_taken},
                      {"products_published", each.products_published}});
    if (each.use) stores.back()[server::name_of(*each.use)] = server::json_of(*each.use);
  }
  return stores;
}

}  // namespace

EngineRun::EngineRun(EngineRunParts parts)
    : parts_(std::move(parts)), folder_(platform::current_folder()), since_(time_now()) {}

Json EngineRun::status() {
  Json status{
      {"session", parts_.facts.session},
      {"simulation", parts_.model.name},
      {"segment", parts_.facts.run_id},
      {"server", parts_.facts.server},
      {"servers", parts_.facts.servers},
      {"state", parts_.engine.is_closing() ? "closing" : "running"},
      {"pid", getpid()},
      {"since", since_},
      {"version", LEAT_VERSION},
      {"folder", folder_},
      {"config", (std::filesystem::path(folder_) / parts_.config).string()},
      {"open_files", platform::targets_open_for_writing()},
  };
  const std::string awaited = parts_.engine.control().awaited();
  status["waits"] = awaited.empty() ? Json(nullptr) : Json(awaited);
  status.update(json_of_segment(parts_.segment, &parts_.model, parts_.facts.ranks));
  return status;
}

std::string EngineRun::describe() {
  if (description_.empty()) description_ = text_of(model::to_json(parts_.model));
  return description_;
}

Json EngineRun::metrics() {
  const Metrics metrics = parts_.engine.control().metrics();
  const Metrics::Window& window = metrics.window;
  const auto cores = static_cast<double>(parts_.model.architecture.dedicated_cores);
  const double busy = window.seconds > 0 ? window.computed_seconds / window.seconds / cores : 0;
  return {
      {"uptime_seconds", metrics.uptime_seconds},
      {"iterations",
       {{"complete", metrics.iterations},
        {"stored", metrics.stored},
        {"failed", metrics.failed},
        {"dropped", metrics.dropped}}},
      {"bytes", metrics.bytes},
      {"rates",
       {{"over_seconds", window.seconds},
        {"iterations_per_second", per_second(window.iterations, window.seconds)},
        {"bytes_per_second", per_second(window.bytes, window.seconds)}}},
      {"queue", metrics.in_progress},
      {"memory",
       {{"bytes", parts_.segment.header().data_bytes}, {"used_bytes", metrics.used_bytes}}},
      {"idle_share", std::max(0.0, 1 - busy)},
      {"stores", json_of_store_metrics(metrics)},
      {"scripts", json_of_script_metrics(metrics)},
  };
}

std::string EngineRun::set(const server::SteeringRequest& request) {
  return parts_.engine.control().steer(request);
}

std::string EngineRun::signal(const std::string& event, const std::string& who) {
  std::string why = parts_.engine.control().signal(event);
  if (why.empty()) parts_.log.info("{} has signalled \"{}\"", who, event);
  return why;
}

std::string EngineRun::drain(const std::string& who) {
  if (parts_.engine.is_closing()) return "the run is ending already";
  parts_.engine.drain(platform::now_ns(), who);
  return "";
}

std::string EngineRun::stop(const std::string& who) {
  if (parts_.engine.is_closing()) return "the run is ending already";
  parts_.stop(who);
  return "";
}

std::string EngineRun::reload_scripts(const std::string& who) {
  std::string why = parts_.engine.control().reload_scripts();
  if (why.empty()) parts_.log.info("{} has ordered to load all scripts anew", who);
  return why;
}

bool EngineRun::pass_on_events(Channel& channel, std::int64_t now_ns) {
  server::IterationEvents& events = parts_.engine.control().events();
  const bool is_watched = channel.has_subscribers();
  if (is_watched != events.is_watched()) events.watch(is_watched);
  if (!is_watched) return false;
  const std::vector<IterationEvent> happened = events.take();
  for (const IterationEvent& event : happened)
    channel.publish(name_of(event.kind), json_of(event), now_ns);
  const bool closes = parts_.engine.is_closing() && !std::exchange(said_closing_, true);
  if (closes) channel.publish("closing", {}, now_ns);
  return closes || !happened.empty();
}

}  // namespace leat::control
