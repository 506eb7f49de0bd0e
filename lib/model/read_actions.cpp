// SPDX-License-Identifier: Apache-2.0
// Scripts and events.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {

// Reads <event>: what may be signalled, and what is done then.

namespace {

class EventReader {
 public:
  EventReader(ReadContext& context, const XmlElement& element)
      : context_(context), model_(context.model), attributes_(context, element) {
    attributes_.read_fields(&event_);
    event_.where = attributes_.where("name");
  }

  void run() {
    event_.stores = stores_in("store");
    event_.told = stores_in("plugin");
    for (const std::uint32_t store : event_.stores) {
      wait_for_it(store);
      if (std::count(event_.told.begin(), event_.told.end(), store) == 0)
        event_.told.push_back(store);
    }
    read_scripts();
    read_function();
    add_named(context_, &model_.events, "event", std::move(event_), attributes_);
  }

 private:
  std::vector<std::uint32_t> stores_in(const char* attribute) {
    std::vector<std::uint32_t> found;
    for (const std::string& name : names_in(attribute)) {
      const std::size_t index = index_of(model_.stores, name);
      if (index < model_.stores.size() && model_.stores[index].function.empty()) {
        found.push_back(static_cast<std::uint32_t>(index));
        continue;
      }
      context_.error(attributes_.where(attribute),
                     "unknown store \"" + name + "\"" + hint_for(name, attribute));
    }
    return found;
  }

  std::string hint_for(const std::string& name, const char* attribute) const {
    if (model_.stores.empty()) return "; the file has no <store>";
    const std::string hint = did_you_mean(name, names_of(model_.stores));
    const bool is_path = name.find('/') != std::string::npos || name.ends_with(".so");
    if (attribute != std::string("plugin") || !is_path) return hint;
    return "; plugin=\"...\" has names of stores: give the library in <store library=\"...\">, or "
           "library=\"...\" function=\"...\" here";
  }

  std::vector<std::string> names_in(const char* attribute) {
    if (!attributes_.given(attribute)) return {};
    std::vector<std::string> names = split_list(attributes_.text(attribute));
    if (names.empty())
      context_.error(attributes_.where(attribute),
                     std::string(attribute) + " is empty; leave it out, or name one");
    for (auto each = names.begin(); each != names.end();) {
      const bool is_second = std::find(names.begin(), each, *each) != each;
      if (is_second)
        context_.error(attributes_.where(attribute),
                       std::string(attribute) + " \"" + *each + "\" is named twice");
      each = is_second ? names.erase(each) : each + 1;
    }
    return names;
  }

  void wait_for_it(std::uint32_t index) {
    Store& store = model_.stores[index];
    if (store.every != 1 || store.due) {
      context_.error(store.where, "store \"" + store.name + "\" has every=\"" + store.when +
                                      "\", and event \"" + event_.name +
                                      "\" says when it stores: leave one of them out");
    }
    store.awaits_event = true;
  }

  // Of folders it is not known what is in them now, nor what will be.
  void read_scripts() {
    event_.scripts = names_in("script");
    const std::vector<ScriptSource>& sources = model_.scripts.sources;
    std::vector<std::string> known;
    for (const ScriptSource& source : sources)
      known.push_back(std::filesystem::path(source.path).stem());
    const bool has_folder = std::any_of(sources.begin(), sources.end(),
                                        [](const ScriptSource& each) { return each.is_folder; });
    for (const std::string& name : event_.scripts) {
      if (has_folder || std::count(known.begin(), known.end(), name) > 0) continue;
      context_.error(
          attributes_.where("script"),
          "unknown script \"" + name + "\"" +
              (known.empty() ? "; the file has no <scripts>" : did_you_mean(name, known)) +
              ": a script is called like its file, without \".py\"");
    }
  }

  void read_function() {
    const std::string library = attributes_.text("library"),
                      function = attributes_.text("function");
    if (library.empty() != function.empty()) {
      return context_.error(attributes_.where(library.empty() ? "function" : "library"),
                            "event \"" + event_.name +
                                "\" needs library and function together: the function, and the "
                                "library that it is in");
    }
    if (!library.empty()) event_.told.push_back(place_of(library, function));
  }

  // A function that several events name is one.
  std::uint32_t place_of(const std::string& library, const std::string& function) {
    std::vector<Store>& stores = model_.stores;
    const auto is_it = [&](const Store& each) {
      return each.library == library && each.function == function;
    };
    const auto found = std::find_if(stores.begin(), stores.end(), is_it);
    if (found != stores.end()) return static_cast<std::uint32_t>(found - stores.begin());
    Store store;
    store.name = function + "()";
    if (index_of(stores, store.name) < stores.size()) store.name += " of " + library;
    store.library = library;
    store.function = function;
    store.products.clear();
    store.awaits_event = true;
    store.where = attributes_.where("library");
    stores.push_back(std::move(store));
    return static_cast<std::uint32_t>(stores.size() - 1);
  }

  ReadContext& context_;
  Model& model_;
  Attributes attributes_;
  Event event_;
};

}  // namespace

void read_events(ReadContext& context, const XmlElement& root) {
  for (const XmlElement* each : all_below(root, "event")) EventReader(context, *each).run();
}

// Reads <scripts>: the files, what runs them, and what becomes of their failures.

namespace {

// Those that a script for others finds: all of them unless it says which.
std::vector<std::uint32_t> script_variables(ReadContext& context, const Attributes& source) {
  const std::vector<Variable>& all = context.model.variables;
  std::vector<std::uint32_t> variables;
  if (!source.has("variables")) {
    for (std::uint32_t i = 0; i < all.size(); ++i) variables.push_back(i);
    return variables;
  }
  for (const std::string& name : split_list(source.text("variables"))) {
    if (const auto index = find_named(context, all, "variable", name, source.where("variables")))
      variables.push_back(*index);
  }
  return variables;
}

std::optional<DaskScheduler> read_dask(ReadContext& context, const XmlElement& script) {
  if (all_below(script, "dask").empty()) return std::nullopt;
  const XmlElement element = only(context, script, "dask");
  DaskScheduler dask;
  Attributes(context, element).read_fields(&dask);
  return dask;
}

// What a script of Leat's says itself is an error here.
std::optional<ForeignScript> read_foreign(ReadContext& context, const Attributes& attributes) {
  ForeignScript script;
  attributes.read_fields(&script);
  if (script.form != ScriptForm::catalyst && attributes.has("args"))
    context.error(attributes.where("args"),
                  "args=\"...\" is for form=\"catalyst\": what catalyst.get_args() returns");
  if (script.form != ScriptForm::catalyst && attributes.has("scope"))
    context.error(attributes.where("scope"),
                  "scope=\"...\" is for form=\"catalyst\": a script of Leat's says it itself, in "
                  "@leat.on_iteration(scope=...) or ctx.picture(scope=...)");
  if (script.form == ScriptForm::graph) {
    for (const char* name : {"every", "variables", "at", "when-slow"}) {
      if (attributes.has(name))
        context.error(attributes.where(name), std::string(name) +
                                                  "=\"...\" is not for form=\"graph\": the plan of "
                                                  "the graph says it, for each module");
    }
    return script;
  }
  if (script.form != ScriptForm::leat) {
    script.variables = script_variables(context, attributes);
    return script;
  }
  for (const char* name : {"every", "variables"}) {
    if (!attributes.has(name)) continue;
    context.error(attributes.where(name),
                  std::string(name) +
                      "=\"...\" is for form=\"damaris\", \"deisa\" and \"catalyst\": a script of "
                      "Leat's says it itself, in @leat.on_iteration(" +
                      name + "=...)");
  }
  return std::nullopt;
}

// A graph for this run alone: the XML does not know it.
void add_graph_of_environment(Scripts& scripts) {
  const char* const path = std::getenv("LEAT_GRAPH");
  if (!path || !*path) return;
  ScriptSource source;
  source.path = path;
  source.foreign.emplace().form = ScriptForm::graph;
  source.where.file = "LEAT_GRAPH";
  scripts.sources.push_back(std::move(source));
}

bool has_modules_on_staging(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // a pipe would let us wait
  std::ifstream file(path);
  const nlohmann::json plan = nlohmann::json::parse(file, nullptr, false);
  if (!plan.is_object() || !plan.contains("modules") || !plan["modules"].is_array()) return false;
  return std::any_of(plan["modules"].begin(), plan["modules"].end(), [](const auto& each) {
    return each.is_object() && each.contains("place") && each["place"] == "staging";
  });
}

// Modules are on nodes and on staging nodes: each of these reads the plan, and takes its own.
void let_graphs_be_on_staging_nodes(Model& model) {
  std::vector<ScriptSource> there;
  for (const ScriptSource& each : model.scripts.sources)
    if (each.form() == ScriptForm::graph && has_modules_on_staging(each.path))
      there.push_back(each);
  for (ScriptSource& each : there) each.at = At::staging;
  if (model.architecture.staging.nodes > 0)
    model.scripts.sources.insert(model.scripts.sources.end(), there.begin(), there.end());
}

void read_script_source(ReadContext& context, const XmlElement& element) {
  const Attributes attributes(context, element);
  ScriptSource source;
  source.is_folder = element.name == "folder";
  const char* path = source.is_folder ? "path" : "file";
  source.path = attributes.text(path);
  attributes.read_fields(&source);
  if (source.timeout_seconds <= 0)
    context.error(attributes.where("timeout"),
                  "with timeout=\"" + attributes.text("timeout") +
                      "\" each call of a script would fail; give the time that it may take for one "
                      "iteration, like \"60s\"");
  source.waits = attributes.text("when-slow") == "wait";
  source.where = attributes.where(path);
  if (!source.is_folder) source.foreign = read_foreign(context, attributes);
  source.dask = read_dask(context, element);
  if (attributes.given(path)) context.model.scripts.sources.push_back(std::move(source));
}

}  // namespace

void read_scripts(ReadContext& context, const XmlElement& root) {
  const XmlElement element = only(context, root, "scripts");
  const Attributes attributes(context, element);
  Scripts& scripts = context.model.scripts;
  scripts.where = attributes.where("interpreter");
  attributes.read_fields(&scripts);
  if (scripts.output.empty()) scripts.output = context.model.name + "-scripts";
  for (const XmlElement& each : element.children) {
    if (each.name == "folder" || each.name == "script") read_script_source(context, each);
  }
  add_graph_of_environment(scripts);
  for (ScriptSource& each : scripts.sources)
    each.waits =
        each.waits || each.form() == ScriptForm::graph;  // its plan says which modules do not
  let_graphs_be_on_staging_nodes(context.model);
  if (scripts.exist())
    scripts.runs = chosen_schedule(context, attributes.where("runs"), scripts.runs,
                                   {Schedule::server, Schedule::idle});
}

}  // namespace leat::model
