// SPDX-License-Identifier: Apache-2.0
// What those who watch a run see of its graph, and how they change it.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "lib/os/user_file.hpp"
#include "server/workers/graph/modules.hpp"
#include "server/workers/script_pool.hpp"

namespace leat::server {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const model::ScriptSource* graph_in(const model::Model& model) {
  const std::vector<model::ScriptSource>& sources = model.scripts.sources;
  const auto found = std::find_if(sources.begin(), sources.end(), [](const auto& each) {
    return each.form() == model::ScriptForm::graph;
  });
  return found == sources.end() ? nullptr : &*found;
}

constexpr const char* kNoGraph =
    "this run has no graph: it is started with one, be it empty, by LEAT_GRAPH=FILE or <script "
    "form=\"graph\" file=\"FILE\"/>";

// What has turns now: "ready", "at work", "away", "ended", "given up".
const char* state_of(const ScriptBoard& board, const Script& script) {
  if (!script.usable) return script.counts.first_error.empty() ? "ended" : "given up";
  const bool works = std::any_of(board.seats.begin(), board.seats.end(),
                                 [&](const auto& seat) { return seat->running == &script; });
  if (!works && !script.counts.away.empty()) return "away";
  return works ? "at work" : "ready";
}

json seen(const ScriptBoard& board, const Script& script) {
  const ScriptCounts& counts = script.counts;
  const json& told = script.file.module->told;
  json from = json::array();
  for (const ModuleInput& input : script.file.module->inputs) {
    if (!input.variable.empty()) from.push_back(input.variable);
    for (const std::string& each : input.sources) from.push_back(each);
  }
  return {{"name", script.file.name},
          {"place", told.value("place", "node")},
          {"state", state_of(board, script)},
          {"takes", from},
          {"makes", script.file.module->outputs},
          {"turns", counts.calls},
          {"failed", counts.failed},
          {"skipped", counts.skipped},
          {"waiting", script.waiting.size()},
          {"seconds", counts.seconds},
          {"why", counts.away.empty() ? counts.first_error : counts.away}};
}

}  // namespace

json ScriptPool::graph() const {
  const model::ScriptSource* const graph = graph_in(context_.model);
  json modules = json::array();
  const std::lock_guard<std::mutex> lock(board_.mutex);
  for (const Script& script : board_.scripts)
    if (script.inputs && !script.removed) modules.push_back(seen(board_, script));
  return {{"plan", graph ? json(graph->path) : json()}, {"modules", std::move(modules)}};
}

std::string ScriptPool::add_modules(const std::string& file) {
  const model::ScriptSource* const graph = graph_in(context_.model);
  if (!graph) return kNoGraph;
  std::error_code error;
  const Result<std::string> text = os::text_of_file(fs::absolute(file, error).string());
  if (!text) return text.error().message;
  const Result<GraphPlan> more = graph_of(*text);
  if (!more) return file + ": " + more.error().message;
  try {
    for (const auto& each : more->modules) ModuleInputs(each, context_.model);
  } catch (const std::invalid_argument& e) {
    return file + ": " + e.what();
  }
  const std::lock_guard<std::mutex> lock(board_.mutex);
  board_.edits.push_back({graph->path, json::parse(*text)["modules"]});
  board_.changed.notify_all();
  return "";
}

std::string ScriptPool::remove_module(const std::string& name) {
  const model::ScriptSource* const graph = graph_in(context_.model);
  if (!graph) return kNoGraph;
  const std::lock_guard<std::mutex> lock(board_.mutex);
  std::vector<std::string> names;
  for (const Script& script : board_.scripts)
    if (script.inputs && !script.removed) names.push_back(script.file.name);
  if (std::count(names.begin(), names.end(), name) == 0)
    return "there is no module \"" + name + "\"" + did_you_mean(name, names);
  board_.edits.push_back({graph->path, json::array(), name});
  board_.changed.notify_all();
  return "";
}

}  // namespace leat::server
