// SPDX-License-Identifier: Apache-2.0
// Reads <scripts>: the files, what runs them, and what becomes of their failures.
#include <cstdlib>

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
}

}  // namespace leat::model
