// SPDX-License-Identifier: Apache-2.0
#include "server/driver/controlled_engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>

#include "lib/control/run_json.hpp"
#include "lib/model/run_description.hpp"
#include "lib/model/words.hpp"
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

// The names of docs/reference/leat-ctl.md.
constexpr model::Word<IterationEvent::Kind> kEventKinds[] = {
    {"open", IterationEvent::Kind::open},       {"complete", IterationEvent::Kind::complete},
    {"stored", IterationEvent::Kind::stored},   {"failed", IterationEvent::Kind::failed},
    {"skipped", IterationEvent::Kind::skipped}, {"dropped", IterationEvent::Kind::dropped},
    {"steered", IterationEvent::Kind::steered}, {"signalled", IterationEvent::Kind::signalled}};

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

// Steering knows numbers and texts.
server::Steering::Value value_in(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  const bool fits = value.is_number_integer() &&
                    !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
  if (fits) return value.get<std::int64_t>();
  return value.get<double>();
}

// Of an order or a request: why it is refused, or who has given it.
Answer accepted(const Request& request, std::string why) {
  if (!why.empty()) return refusal(std::move(why));
  return text_of({{"who", request.who}});
}

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

Json json_of_script_metrics(const Metrics& metrics) {
  Json scripts = Json::array();
  for (const server::ScriptMetrics& each : metrics.scripts)
    scripts.push_back({{"name", each.name},
                       {"is_module", each.fate.is_module},
                       {"calls", each.fate.calls},
                       {"failed", each.fate.failed},
                       {"skipped", each.fate.skipped},
                       {"why", each.fate.why},
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
    : parts_(std::move(parts)), folder_(os::current_folder()), since_(time_now()) {}

Answer EngineRun::answer(const Request& request) {
  std::string name = request.verb;
  std::replace(name.begin(), name.end(), '-', '_');
#define LEAT_CONTROL_STREAM(...)
#define LEAT_CONTROL_VERB(verb, ...) \
  if (name == #verb) return verb(request);
#include "lib/control/verbs.def"
  return refusal("this server does not answer " + request.verb);
}

Answer EngineRun::status(const Request& /*request*/) {
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
      {"open_files", os::targets_open_for_writing()},
  };
  const std::string awaited = parts_.engine.control().awaited();
  status["waits"] = awaited.empty() ? Json(nullptr) : Json(awaited);
  status.update(json_of_segment(parts_.segment, &parts_.model, parts_.facts.ranks));
  return text_of(status);
}

Answer EngineRun::describe(const Request& /*request*/) {
  if (description_.empty()) description_ = text_of(model::to_json(parts_.model));
  return description_;
}

Answer EngineRun::ledger(const Request& /*request*/) { return parts_.engine.control().ledger(); }

Answer EngineRun::metrics(const Request& /*request*/) {
  const Metrics metrics = parts_.engine.control().metrics();
  const Metrics::Window& window = metrics.window;
  const auto cores = static_cast<double>(parts_.model.architecture.dedicated_cores);
  const double busy = window.seconds > 0 ? window.computed_seconds / window.seconds / cores : 0;
  return text_of({
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
       {{"bytes", parts_.segment.header().data_bytes},
        {"used_bytes", metrics.used_bytes},
        {"waiting_ranks", metrics.waiting_ranks},
        {"waited_seconds", metrics.waited_seconds}}},
      {"idle_share", std::max(0.0, 1 - busy)},
      {"stores", json_of_store_metrics(metrics)},
      {"scripts", json_of_script_metrics(metrics)},
  });
}

Answer EngineRun::run(const Request& /*request*/) { return parts_.engine.control().run(); }

Answer EngineRun::parameters(const Request& /*request*/) {
  const std::vector<ParameterValue> now = parts_.engine.control().parameters();
  Json all = Json::array();
  for (std::size_t i = 0; i < now.size(); ++i) {
    const model::Parameter& each = parts_.model.parameters[i];
    all.push_back({{"name", each.name},
                   {"type", model::word_of(each.kind)},
                   {"value", model::to_json(now[i])},
                   {"value_in_xml", model::to_json(each.value)},
                   {"description", each.description}});
  }
  return text_of({{"parameters", std::move(all)}});
}

Answer EngineRun::set(const Request& request) {
  const Json& arguments = request.arguments;
  return accepted(request, parts_.engine.control().steer({request.who, arguments["parameter"],
                                                          value_in(arguments["value"]),
                                                          arguments.value("scope", "") == "node"}));
}

Answer EngineRun::signal(const Request& request) {
  const std::string event = request.arguments["signal"];
  std::string why = parts_.engine.control().signal(event);
  if (why.empty()) parts_.log.info("{} has signalled \"{}\"", request.who, event);
  return accepted(request, std::move(why));
}

Answer EngineRun::drain(const Request& request) {
  if (parts_.engine.is_closing()) return refusal("the run is ending already");
  parts_.engine.drain(os::now_ns(), request.who);
  return accepted(request, "");
}

Answer EngineRun::stop(const Request& request) {
  if (parts_.engine.is_closing()) return refusal("the run is ending already");
  parts_.stop(request.who);
  return accepted(request, "");
}

Answer EngineRun::reload_scripts(const Request& request) {
  std::string why = parts_.engine.control().reload_scripts();
  if (why.empty()) parts_.log.info("{} has ordered to load all scripts anew", request.who);
  return accepted(request, std::move(why));
}

Answer EngineRun::graph(const Request& /*request*/) { return parts_.engine.control().graph(); }

Answer EngineRun::graph_add(const Request& request) {
  const std::string file = request.arguments.at("file");
  std::string why = parts_.engine.control().add_to_graph(file);
  if (why.empty())
    parts_.log.info("{} has added the modules of {} to the graph", request.who, file);
  return accepted(request, std::move(why));
}

Answer EngineRun::graph_remove(const Request& request) {
  const std::string module = request.arguments.at("module");
  std::string why = parts_.engine.control().remove_from_graph(module);
  if (why.empty())
    parts_.log.info("{} has taken module \"{}\" out of the graph", request.who, module);
  return accepted(request, std::move(why));
}

bool EngineRun::pass_on_events(Channel& channel, std::int64_t now_ns) {
  server::IterationEvents& events = parts_.engine.control().events();
  const bool is_watched = channel.has_subscribers();
  events.watch(is_watched);
  if (!is_watched) return false;
  const std::vector<IterationEvent> happened = events.take();
  for (const IterationEvent& event : happened)
    channel.publish(model::word_of(kEventKinds, event.kind), json_of(event), now_ns);
  const bool closes = parts_.engine.is_closing() && !std::exchange(said_closing_, true);
  if (closes) channel.publish("closing", {}, now_ns);
  return closes || !happened.empty();
}

}  // namespace leat::control
