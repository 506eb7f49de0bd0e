// SPDX-License-Identifier: Apache-2.0
// The scripts of a run, imported by the interpreter that would run them; the work is done in Python: python-
// plugins/leat/scripting/lint.py.

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/base/text.hpp"
#include "lib/model/run_description.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/process.hpp"
#include "server/cli/check_report.hpp"
#include "server/workers/python/script_files.hpp"

namespace leat::cli {
namespace {

namespace fs = std::filesystem;
using PlainJson = nlohmann::json;

// For the interpreter itself, and NumPy, beside what its scripts may take.
constexpr double kStartSeconds = 15;

// As short as one would write it here.
std::string from_here(const std::string& path) {
  std::error_code error;
  const std::string here = fs::path(path).lexically_relative(fs::current_path(error)).string();
  return error || here.empty() || here.starts_with("..") ? path : here;
}

model::Diagnostic diagnostic_of(const PlainJson& told, const model::SourceLocation& where_scripts) {
  const std::string file = told.value("file", std::string());
  const model::SourceLocation in_script{from_here(file), told.value("line", 0), 0};
  return {model::value_of(kSeverities, told.value("severity", std::string())),
          file.empty() ? where_scripts : in_script, told.value("message", std::string())};
}

// What it says, and what goes without saying.
Json function_of(const PlainJson& told) {
  Json function{{"name", ""},
                {"variables", nullptr},
                {"every", 1},
                {"line", 0},
                {"products", Json::array()},
                {"publishes", Json::array()},
                {"events", Json::array()}};
  for (const auto& [key, value] : function.items())
    if (told.contains(key)) value = told[key];
  return function;
}

std::vector<model::ScriptSource> usable_sources(const CheckReport& report) {
  std::vector<model::ScriptSource> usable;
  for (const model::ScriptSource& source : report.model->scripts.sources) {
    if (server::why_not_usable(source).empty()) usable.push_back(source);
  }
  return usable;
}

// Those of sources that can be used; what else is in their folders is a warning.
std::vector<server::ScriptFile> files_of(CheckReport& report,
                                         const std::vector<model::ScriptSource>& usable) {
  server::GraphPlans plans;
  server::ScriptScan scan = server::find_scripts(usable, plans);
  for (const std::string& problem : scan.problems)
    report.diagnostics.push_back({model::Severity::warning, report.model->scripts.where, problem});
  std::set<std::string> warnings;
  for (const server::ScriptFile& file : scan.files) {
    if (std::string text = os::group_warning(file.path); !text.empty())
      warnings.insert(std::move(text));
  }
  for (const std::string& text : warnings)
    report.diagnostics.push_back({model::Severity::warning, report.model->scripts.where, text});
  return std::move(scan.files);
}

PlainJson order_for(const CheckReport& report, const std::vector<server::ScriptFile>& files,
                    const std::vector<model::ScriptSource>& sources) {
  PlainJson scripts = PlainJson::array();
  for (const server::ScriptFile& file : files) {
    scripts.push_back({{"path", file.path},
                       {"foreign", server::foreign_words(sources[file.source], *report.model)},
                       {"module", file.module ? file.module->told : PlainJson()}});
  }
  return {{"model", model::to_json_for_scripts(*report.model)},
          {"scripts", scripts},
          {"limit", report.options.import_limit}};
}

void take_answer(CheckReport& report, const PlainJson& told) {
  for (const PlainJson& each : told.value("diagnostics", PlainJson::array()))
    report.diagnostics.push_back(diagnostic_of(each, report.model->scripts.where));
  std::size_t number = 0;
  for (const PlainJson& each : told.value("scripts", PlainJson::array())) {
    if (number == report.scripts.size()) return;
    for (const PlainJson& function : each.value("functions", PlainJson::array()))
      report.scripts[number].functions.push_back(function_of(function));
    ++number;
  }
}

// Of folders the reader does not know what is in them.
void check_names_in_events(CheckReport& report) {
  std::vector<std::string> known;
  for (const CheckedScript& script : report.scripts) known.push_back(script.name);
  for (const model::Event& event : report.model->events) {
    for (const std::string& name : event.scripts) {
      if (std::count(known.begin(), known.end(), name) > 0) continue;
      report.diagnostics.push_back({model::Severity::error, event.where,
                                    "event \"" + event.name + "\" is for the script \"" + name +
                                        "\", which is not there" + did_you_mean(name, known)});
    }
  }
}

// Of the run, with the ranks that the command line says; 1 where it says none.
std::int64_t servers_of(const CheckReport& report) {
  const std::int64_t ranks = report.options.ranks.value_or(report.per_node);
  const std::int64_t nodes = (ranks + report.per_node - 1) / report.per_node;
  return nodes * report.model->architecture.servers;
}

void say_who_draws(CheckReport& report) {
  const std::int64_t servers = servers_of(report);
  if (servers < 2) return;
  for (const model::ScriptSource& source : report.model->scripts.sources) {
    if (source.form() != model::ScriptForm::catalyst ||
        source.foreign->scope == model::ScriptScope::run)
      continue;
    report.diagnostics.push_back(
        {model::Severity::note, source.where,
         source.path + ": each of the " + std::to_string(servers) +
             " servers draws the part that its own ranks wrote; with scope=\"run\" the first one "
             "draws all of it"});
  }
}

}  // namespace

void check_scripts(CheckReport& report) {
  const model::Scripts& scripts = report.model->scripts;
  if (!scripts.exist()) return;
  for (model::Diagnostic& each : server::script_problems(scripts))
    report.diagnostics.push_back(std::move(each));
  const std::vector<model::ScriptSource> sources = usable_sources(report);
  const std::vector<server::ScriptFile> files = files_of(report, sources);
  for (const server::ScriptFile& file : files)
    report.scripts.push_back(
        {file.name, from_here(file.path), sources[file.source].at == model::At::staging});
  check_names_in_events(report);
  say_who_draws(report);
  const std::string interpreter = os::find_program(scripts.interpreter);
  if (interpreter.empty()) return;
  const Result<std::string> output = server::run_python_tool(
      interpreter, {"lint"},
      order_for(report, files, sources).dump(-1, ' ', false, PlainJson::error_handler_t::replace),
      report.options.import_limit + kStartSeconds);
  const PlainJson told = PlainJson::parse(output ? *output : "", nullptr, false);
  if (told.is_object()) return take_answer(report, told);
  const std::string why =
      output ? interpreter + " did not say what it found" : output.error().message;
  report.diagnostics.push_back(
      {model::Severity::error, scripts.where, "the scripts could not be imported: " + why});
}

}  // namespace leat::cli
