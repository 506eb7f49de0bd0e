// SPDX-License-Identifier: Apache-2.0
// Reads <scripts>: the files, what runs them, and what becomes of their failures.
#include <cstdlib>

#include "lib/base/suggest.hpp"
#include "lib/model/chosen_word.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/units.hpp"

namespace leat::model {
namespace {

double script_timeout_seconds(ReadContext& context, const Attributes& source) {
  const std::string text = source.text("timeout");
  const double seconds = parse_duration(text).value_or(1);  // what is no duration was refused
  if (seconds <= 0) {
    context.error(source.where("timeout"), "with timeout=\"" + text +
                                               "\" each call of a script would fail; give the time "
                                               "that it may take for one iteration, like \"60s\"");
  }
  return seconds;
}

// Those that a script for Damaris finds in its dictionary: all of them unless it says which.
std::vector<std::uint32_t> script_variables(ReadContext& context, const Attributes& source) {
  const std::vector<Variable>& all = context.model.variables;
  std::vector<std::uint32_t> variables;
  if (!source.has("variables")) {
    for (std::uint32_t i = 0; i < all.size(); ++i) variables.push_back(i);
    return variables;
  }
  for (const std::string& name : split_list(source.text("variables"))) {
    const std::size_t index = index_of(all, name);
    if (index == all.size())
      context.error(source.where("variables"),
                    "unknown variable \"" + name + "\"" + did_you_mean(name, names_of(all)));
    else
      variables.push_back(static_cast<std::uint32_t>(index));
  }
  return variables;
}

std::optional<DaskScheduler> read_dask(ReadContext& context, const XmlElement& script) {
  const std::vector<const XmlElement*> found = all_below(script, "dask");
  if (found.empty()) return std::nullopt;
  const Attributes attributes(context, *found.front());
  DaskScheduler dask;
  dask.file = attributes.text("scheduler-file");
  dask.threads = std::strtoll(attributes.text("threads").c_str(), nullptr, 10);
  dask.timeout_seconds = parse_duration(attributes.text("timeout")).value_or(1);
  for (std::size_t i = 1; i < found.size(); ++i)
    context.error(found[i]->where, "a second <dask> of one script");
  return dask;
}

// What a script of Leat's says itself is an error here.
std::optional<DamarisScript> read_damaris(ReadContext& context, const XmlElement& element,
                                          const Attributes& attributes) {
  if (attributes.text("form") == "damaris") {
    DamarisScript script;
    script.every = std::strtoll(attributes.text("every").c_str(), nullptr, 10);
    script.variables = script_variables(context, attributes);
    script.dask = read_dask(context, element);
    return script;
  }
  for (const char* name : {"every", "variables"}) {
    if (!attributes.has(name)) continue;
    context.error(attributes.where(name),
                  std::string(name) +
                      "=\"...\" is for form=\"damaris\": a script of Leat's says "
                      "it itself, in @leat.on_iteration(" +
                      name + "=...)");
  }
  for (const XmlElement* dask : all_below(element, "dask"))
    context.error(dask->where, "<dask> is for a script with form=\"damaris\"");
  return std::nullopt;
}

void read_source(ReadContext& context, const XmlElement& element) {
  const Attributes attributes(context, element);
  ScriptSource source;
  source.is_folder = element.name == "folder";
  const char* path = source.is_folder ? "path" : "file";
  source.path = attributes.text(path);
  source.timeout_seconds = script_timeout_seconds(context, attributes);
  source.failures = std::strtoll(attributes.text("failures").c_str(), nullptr, 10);
  source.waits = attributes.text("when-slow") == "wait";
  source.where = attributes.where(path);
  if (!source.is_folder) source.damaris = read_damaris(context, element, attributes);
  if (attributes.given(path)) context.model.scripts.sources.push_back(std::move(source));
}

}  // namespace

void read_scripts(ReadContext& context, const XmlElement& root) {
  const XmlElement element = only(context, root, "scripts");
  const Attributes attributes(context, element);
  Scripts& scripts = context.model.scripts;
  scripts.where = attributes.where("interpreter");
  scripts.interpreter = attributes.text("interpreter");
  scripts.workers = std::strtoll(attributes.text("workers").c_str(), nullptr, 10);
  scripts.memory_bytes = parse_size(attributes.text("memory")).value_or(0);
  if (scripts.memory_bytes == 0) {
    context.error(attributes.where("memory"),
                  "the size \"" + attributes.text("memory") + "\" is beyond 64 bits");
  }
  scripts.output = attributes.text("output");
  if (scripts.output.empty()) scripts.output = context.model.name + "-scripts";
  for (const XmlElement& each : element.children) {
    if (each.name == "folder" || each.name == "script") read_source(context, each);
  }
  if (scripts.exist()) scripts.runs = chosen_schedule(context, attributes, kScriptSchedules);
}

}  // namespace leat::model
