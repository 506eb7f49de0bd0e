// SPDX-License-Identifier: Apache-2.0
// What `leat check` prints as JSON, and shows on a terminal.

#include <algorithm>

#include "lib/base/stored_as.hpp"
#include "lib/base/text.hpp"
#include "lib/model/explain.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/run_description.hpp"
#include "lib/model/words.hpp"
#include "server/cli/check_report.hpp"

namespace leat::cli {
namespace {

template <class Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// As in other places, and what the command line makes of it.
Json json_of_variable(const CheckReport& report, const model::VariableEstimate& estimate) {
  const model::Variable& each = report.model->variables[estimate.variable];
  Json said = model::to_json(*report.model, each);
  said["shape"] = report.shapes[estimate.variable];
  said["stores"] = Json::array();
  for (const std::uint32_t store : each.stores)
    said["stores"].push_back(report.model->stores[store].name);
  said["bytes_per_rank"] = value_or_null(estimate.bytes_per_rank);
  said["why_unknown"] = estimate.why_unknown;
  return said;
}

void add_model(const CheckReport& report, Json* root) {
  const model::Model& model = *report.model;
  Json variables = Json::array(), stores = Json::array(), scripts = Json::array();
  for (const auto& each : report.memory.variables)
    variables.push_back(json_of_variable(report, each));
  for (const auto& each : model.stores) stores.push_back(Json(model::to_json(each)));
  for (const auto& each : report.scripts)
    scripts.push_back({{"name", each.name}, {"file", each.file}, {"functions", each.functions}});
  root->update({{"simulation", model.name},
                {"dedicated_cores", model.architecture.dedicated_cores},
                {"staging_nodes", model.architecture.staging.nodes},
                {"mode", model::word_of(model.architecture.mode)},
                {"variables", std::move(variables)},
                {"stores", std::move(stores)},
                {"events", Json(model::to_json(model)["events"])},
                {"parameters", Json(model::to_json(model)["parameters"])},
                {"scripts", std::move(scripts)},
                {"memory",
                 {{"ranks_per_node", report.per_node},
                  {"bytes_per_rank", report.memory.known_bytes_per_rank},
                  {"bytes_per_node", report.memory.known_bytes_per_node},
                  {"complete", report.memory_complete},
                  {"buffer_bytes", report.memory.buffer_bytes},
                  {"iterations_that_fit", value_or_null(report.iterations_that_fit)}}},
                {"set_by_simulation", report.set_by_simulation},
                {"sizes_need", report.sizes_need},
                {"placeholders", report.placeholders},
                {"sizes_at_writes", report.sizes_at_writes}});
  if (!report.server_place.empty())
    (*root)["placement"] = {{"server", report.server_place}, {"buffer", report.memory_place}};
}

}  // namespace

Json json_of(const CheckReport& report) {
  Json root{{"file", report.options.file}, {"good", report.good()}};
  root["diagnostics"] = Json::array();
  for (const model::Diagnostic& each : report.diagnostics)
    root["diagnostics"].push_back({{"severity", model::word_of(kSeverities, each.severity)},
                                   {"file", each.where.file},
                                   {"line", each.where.line},
                                   {"column", each.where.column},
                                   {"message", each.message}});
  if (report.model) add_model(report, &root);
  return root;
}

namespace {

// "--set nx=... --set ny=..."
std::string options_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "--set " : " --set ") + name + "=...";
  return text;
}

// As the XML has it.
std::string shape_in_xml(std::vector<std::string> shape, const model::Layout& layout) {
  if (layout.order == model::Order::fortran) std::reverse(shape.begin(), shape.end());
  const std::string one = shape.empty() ? "scalar" : joined(shape, " x ");
  return layout.blocks == 1 ? one : one + ", " + std::to_string(layout.blocks) + " blocks";
}

std::string every_so_many(std::int64_t every) {
  return every == 1 ? "every iteration" : "every " + std::to_string(every) + " iterations";
}

std::string when_it_runs(const Json& store) {
  const std::string runs = text_in(store, "runs"), word = "; runs " + runs;
  if (runs.empty()) return "";
  if (runs == "harvest")
    return word +
           ", in phases of leat_idle_begin, LD_PRELOAD=libleat_pmpi.so or "
           "OMP_TOOL_LIBRARIES=libleat_ompt.so";
  if (runs == "coordinated")
    return word +
           ", from collectives on that leat_after_collective or LD_PRELOAD=libleat_pmpi.so tells "
           "of";
  return word;
}

// As the XML has them; the JSON has them by their names.
std::string options_in(const model::Store& store) {
  std::vector<std::string> options;
  for (const model::Option& each : store.options) options.push_back(each.name + "=" + each.value);
  return joined(options, "  ");
}

// With what it takes that others have made.
Cell variables_of(const Json& function) {
  if (function["name"] == "?") return {};
  Json all = function["variables"].is_array() ? function["variables"] : Json::array({"all"});
  for (const Json& each : function["products"]) all.push_back(each);
  return {all.empty() ? "" : shown({{"all", all}}, "all")};
}

Cell when_called(const Json& function) {
  if (function["name"] == "?") return {};
  const auto events = function["events"].get<std::vector<std::string>>();
  return {every_so_many(function["every"]) +
          (events.empty() ? "" : " with " + joined(events, " or "))};
}

class CheckScreen {
 public:
  CheckScreen(const CheckReport& report, const Json& facts, const Look& look)
      : report_(report), model_(*report.model), facts_(facts), screen_(look) {}

  std::string run() {
    heading();
    variables();
    made_by_server();
    stores();
    events();
    scripts();
    memory();
    parameters();
    if (!report_.server_place.empty()) {
      section("Placement on " + report_.options.machine);
      facts_table({{{"server"}, {report_.server_place}}, {{"buffer"}, {report_.memory_place}}});
    }
    return screen_.text();
  }

 private:
  void section(const std::string& title) { screen_.section(title); }

  void facts_table(std::vector<std::vector<Cell>> rows, bool right = false) {
    screen_.table({{}, {.right = right}, {}}, std::move(rows));
  }

  void heading() {
    screen_.line(screen_.paint(model_.name, Paint::bold) +
                 (model_.description.empty() ? "" : ": " + model_.description) + "  " +
                 screen_.paint("(" + report_.options.file + ")", Paint::dim));
    if (model_.architecture.mode == model::EndMode::automatic)
      screen_.line(
          "mode=\"auto\": the run tries whether ranks are faster when they wait for their output "
          "or when they compute beside it, and says which in its log and report");
  }

  void variables() {
    section(counted(facts_["variables"].size(), "variable"));
    Json rows = facts_["variables"];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const model::VariableEstimate& estimate = report_.memory.variables[i];
      const model::Variable& variable = model_.variables[estimate.variable];
      rows[i]["shape"] =
          shape_in_xml(report_.shapes[estimate.variable], model_.layouts[variable.layout]);
      rows[i]["taken"] = estimate.taken;
      rows[i]["impossible"] = estimate.impossible;
    }
    screen_.table(rows, {text("name"), text("type"), text("shape"), text("unit"),
                         made({.title = "stores"},
                              [](const Json& row) {
                                return Cell{row["stores"].empty() ? "none" : shown(row, "stores")};
                              }),
                         made({.title = "bytes per rank", .right = true}, bytes_of)});
  }

  void made_by_server() {
    if (model_.derived_order.empty()) return;
    section(counted(model_.derived_order.size(), "variable") + " made by the server");
    Json rows = Json::array();
    for (std::uint32_t i = 0; i < model_.variables.size(); ++i) {
      const model::Variable& variable = model_.variables[i];
      if (!variable.derived) continue;
      const StoredAs as = stored_as(variable.options);
      const ScalarType type = as.is_any() ? as.type : model_.layouts[variable.layout].type;
      Json& row = rows.emplace_back(Json{{"name", variable.name},
                                         {"type", scalar_name(type)},
                                         {"unit", variable.unit},
                                         {"what", model::what_is_made(model_, i)},
                                         {"stores", Json::array()}});
      for (const std::uint32_t each : variable.stores)
        row["stores"].push_back(model_.stores[each].name);
    }
    screen_.table(rows, {text("name"), text("type"), text("unit"), text("what"),
                         made({.title = "stores"}, [](const Json& row) {
                           return Cell{row["stores"].empty() ? "none" : shown(row, "stores")};
                         })});
  }

  // leat_write copies nothing that no store takes.
  static Cell bytes_of(const Json& row) {
    if (!row["taken"]) return {"-"};
    if (row["bytes_per_rank"].is_number()) return {shown_bytes(row, "bytes_per_rank")};
    return {text_in(row, "why_unknown"), row["impossible"] ? Paint::red : Paint::yellow};
  }

  void stores() {
    section(counted(model_.stores.size(), "store"));
    Json rows = facts_["stores"];
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i]["options"] = options_in(model_.stores[i]);
    screen_.table(rows, {text("name"), text("plugin"),
                         made({.title = "takes"},
                              [this](const Json& store) {
                                const bool waits = store["when_slow"] == "wait";
                                return Cell{what_it_takes(store) +
                                            (waits ? "" : ", but while it is busy") +
                                            when_it_runs(store)};
                              }),
                         dim("options")});
  }

  std::string what_it_takes(const Json& store) const {
    if (store.contains("function")) return "events";
    const model::Store& its = model_.stores[model::index_of(model_.stores, text_in(store, "name"))];
    if (its.period) return "periods of " + to_text(model_.periods[*its.period]);
    if (its.due) {
      const std::string when = to_text(model_.periods[*its.due]);
      return (when.starts_with("when ") ? "iterations " : "iterations at each ") + when;
    }
    if (!store.value("awaits_event", false)) return every_so_many(store["every"]);
    std::vector<std::string> names;
    for (const Json& event : facts_["events"]) {
      const Json stores = event.value("stores", Json::array());
      if (std::count(stores.begin(), stores.end(), store["name"]) > 0)
        names.push_back(event["name"]);
    }
    return "iterations with " + joined(names, " or ");
  }

  void events() {
    if (model_.events.empty()) return;
    section(counted(model_.events.size(), "event"));
    screen_.table(facts_["events"],
                  {text("name"), text("scope"), made({.title = "for"}, [](const Json& event) {
                     Json names = event.value("plugins", Json::array());
                     for (const Json& each : event.value("scripts", Json::array()))
                       names.push_back(each);
                     return Cell{names.empty() ? "scripts that ask for it"
                                               : shown({{"names", names}}, "names")};
                   })});
  }

  // A line for each function; one that could not be imported has none.
  void scripts() {
    if (!model_.scripts.exist()) return;
    section(counted(report_.scripts.size(), "script"));
    Json rows = Json::array();
    for (const CheckedScript& script : report_.scripts) {
      for (Json row : script.functions.empty() ? Json{{{"name", "?"}}} : script.functions) {
        row["script"] = script.name;
        rows.push_back(std::move(row));
      }
    }
    screen_.table(
        rows, {text("name", "script"),
               made({.title = "function"},
                    [](const Json& row) {
                      const bool is_known = row["name"] != "?";
                      return Cell{shown(row, "name"), is_known ? Paint::plain : Paint::red};
                    }),
               made({.title = "variables"}, variables_of), made({.title = "called"}, when_called)});
  }

  void memory() {
    const model::MemoryEstimate& memory = report_.memory;
    const Cell open{unknown_part(), Paint::yellow};
    std::vector<std::vector<Cell>> rows{
        {{"one rank"}, known_bytes(memory.known_bytes_per_rank), open},
        {{"node of " + counted(static_cast<std::uint64_t>(report_.per_node), "rank")},
         known_bytes(memory.known_bytes_per_node),
         open},
        {{"buffer of a node"}, {format_bytes(memory.buffer_bytes)}, room()}};
    if (report_.options.ranks) rows.insert(rows.end() - 1, whole_run(*report_.options.ranks));
    section("Memory of one iteration");
    facts_table(std::move(rows), true);
  }

  // "at least: 2 variables have no known size", or "".
  std::string unknown_part() const {
    std::uint64_t unknown = 0;
    for (const model::VariableEstimate& each : report_.memory.variables)
      unknown += each.taken && !each.bytes_per_rank;
    if (unknown == 0) return "";
    const std::string those =
        counted(unknown, "variable") + (unknown == 1 ? " has" : " have") + " no known size";
    return report_.memory.known_bytes_per_rank == 0 ? those : "at least: " + those;
  }

  Cell known_bytes(std::uint64_t bytes) const {
    if (bytes == 0 && !report_.memory_complete) return {"?", Paint::yellow};
    return {format_bytes(bytes)};
  }

  std::vector<Cell> whole_run(std::int64_t ranks) const {
    const std::int64_t nodes = ranks / report_.per_node + (ranks % report_.per_node != 0);
    std::uint64_t bytes = 0;
    const bool too_many = __builtin_mul_overflow(report_.memory.known_bytes_per_rank,
                                                 static_cast<std::uint64_t>(ranks), &bytes);
    return {{"all " + counted(static_cast<std::uint64_t>(ranks), "rank") + " on " +
             counted(static_cast<std::uint64_t>(nodes), "node")},
            known_bytes(too_many ? UINT64_MAX : bytes)};
  }

  Cell room() const {
    if (!report_.iterations_that_fit) return {};
    const std::uint64_t fit = *report_.iterations_that_fit;
    const Paint paint = fit == 0 ? Paint::red : fit == 1 ? Paint::yellow : Paint::green;
    const std::string at_most = report_.memory_complete ? "" : "at most ";
    return {"room for " + at_most + counted(fit, "iteration"), paint};
  }

  void parameters() {
    if (report_.set_by_simulation.empty()) return;
    const std::string hint = report_.sizes_need.empty()
                                 ? ""
                                 : "  (" + options_of(report_.sizes_need) + " shows the sizes)";
    screen_.line("\nset by the simulation: " +
                 screen_.paint(joined(report_.set_by_simulation, ", "), Paint::yellow) +
                 screen_.paint(hint, Paint::dim));
  }

  const CheckReport& report_;
  const model::Model& model_;
  const Json& facts_;
  Screen screen_;
};

}  // namespace

std::string screen(const CheckReport& report, const Json& facts, const Look& look) {
  return report.model ? CheckScreen(report, facts, look).run() : "";
}

}  // namespace leat::cli
