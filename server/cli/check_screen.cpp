// SPDX-License-Identifier: Apache-2.0
// What `leat check` shows on a terminal, and prints as JSON.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"
#include "lib/model/run_description.hpp"
#include "lib/model/words.hpp"
#include "server/cli/check_report.hpp"

namespace leat::cli {

// The part of the screen that says what one iteration takes.

namespace {

class MemoryPart {
 public:
  MemoryPart(const CheckReport& report, const Look& look) : report_(report), look_(look) {}

  std::string run() { return memory() + parameters(); }

 private:
  std::string memory() {
    const model::MemoryEstimate& memory = report_.memory;
    const Cell open{unknown_part(), Paint::yellow};
    std::vector<std::vector<Cell>> rows{
        {{"one rank"}, known_bytes(memory.known_bytes_per_rank), open},
        {{"node of " + counted(static_cast<std::uint64_t>(report_.per_node), "rank")},
         known_bytes(memory.known_bytes_per_node),
         open},
        {{"buffer of a node"}, {format_bytes(memory.buffer_bytes)}, room()}};
    if (report_.options.ranks) rows.insert(rows.end() - 1, whole_run(*report_.options.ranks));
    for (auto& row : rows) row[1].right = true;
    return "\n" + painted("Memory of one iteration", Paint::bold, look_.colours) + "\n" +
           table(rows, look_);
  }

  // "at least: 2 variables have no known size", or "".
  std::string unknown_part() const {
    std::uint64_t unknown = 0;
    for (const model::VariableEstimate& each : report_.memory.variables) {
      unknown += each.taken && !each.bytes_per_rank;
    }
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
            known_bytes(too_many ? UINT64_MAX : bytes),
            {}};
  }

  Cell room() const {
    if (!report_.iterations_that_fit) return {};
    const std::uint64_t fit = *report_.iterations_that_fit;
    const Paint paint = fit == 0 ? Paint::red : fit == 1 ? Paint::yellow : Paint::green;
    const std::string at_most = report_.memory_complete ? "" : "at most ";
    return {"room for " + at_most + counted(fit, "iteration"), paint};
  }

  std::string parameters() {
    if (report_.set_by_simulation.empty()) return "";
    const std::string hint = report_.sizes_need.empty()
                                 ? ""
                                 : "  (" + options_of(report_.sizes_need) + " shows the sizes)";
    return "\nset by the simulation: " +
           painted(joined(report_.set_by_simulation, ", "), Paint::yellow, look_.colours) +
           painted(hint, Paint::dim, look_.colours) + "\n";
  }

  const CheckReport& report_;
  Look look_;
};

}  // namespace

std::string options_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "--set " : " --set ") + name + "=...";
  return text;
}

std::string memory_text(const CheckReport& report, const Look& look) {
  return MemoryPart(report, look).run();
}

// What `leat check` shows on a terminal.

namespace {

class CheckScreen {
 public:
  CheckScreen(const CheckReport& report, const Look& look)
      : report_(report), model_(*report.model), look_(look) {}

  std::string run() {
    heading();
    variables();
    stores();
    events();
    return text_ + scripts_text(report_, look_) + memory_text(report_, look_) +
           placement_text(report_, look_);
  }

 private:
  void section(const std::string& title) { text_ += "\n" + paint(title, Paint::bold) + "\n"; }

  std::string paint(const std::string& text, Paint paint) const {
    return painted(text, paint, look_.colours);
  }

  void heading() {
    text_ += paint(model_.name, Paint::bold);
    if (!model_.description.empty()) text_ += ": " + model_.description;
    text_ += "  " + paint("(" + report_.options.file + ")", Paint::dim) + "\n";
    if (model_.architecture.mode == model::EndMode::automatic)
      text_ +=
          "mode=\"auto\": the run tries whether ranks are faster when they wait for their output "
          "or "
          "when they compute beside it, and says which in its log and report\n";
  }

  void variables() {
    section(counted(model_.variables.size(), "variable"));
    if (model_.variables.empty()) return;
    std::vector<std::vector<Cell>> rows{
        header({"name", "type", "shape", "unit", "stores", "bytes per rank"})};
    rows[0].back().right = true;
    for (const model::VariableEstimate& each : report_.memory.variables) rows.push_back(row(each));
    text_ += table_or_paragraphs(rows, look_);
  }

  std::vector<Cell> row(const model::VariableEstimate& estimate) {
    const model::Variable& variable = model_.variables[estimate.variable];
    const model::Layout& layout = model_.layouts[variable.layout];
    Cell bytes{"", Paint::plain, true};
    if (!estimate.taken) {
      bytes.text = "-";  // leat_write copies nothing that no store takes
    } else if (estimate.bytes_per_rank) {
      bytes.text = format_bytes(*estimate.bytes_per_rank);
    } else {
      bytes.text = estimate.why_unknown;
      bytes.paint = estimate.impossible ? Paint::red : Paint::yellow;
    }
    return {{variable.name},
            {scalar_name(layout.type)},
            {shape_text(report_.shapes[estimate.variable], layout)},
            {variable.unit.empty() ? "-" : variable.unit},
            {stores_of(variable)},
            bytes};
  }

  // As the XML has it.
  static std::string shape_text(std::vector<std::string> shape, const model::Layout& layout) {
    if (layout.order == model::Order::fortran) std::reverse(shape.begin(), shape.end());
    const std::string one = shape.empty() ? "scalar" : joined(shape, " x ");
    return layout.blocks == 1 ? one : one + ", " + std::to_string(layout.blocks) + " blocks";
  }

  std::string stores_of(const model::Variable& variable) const {
    std::vector<std::string> names;
    for (const std::uint32_t store : variable.stores) names.push_back(model_.stores[store].name);
    return names.empty() ? "none" : joined(names, ", ");
  }

  std::string what_it_takes(const model::Store& store) const {
    if (!store.function.empty()) return "events";
    if (!store.awaits_event)
      return store.every == 1 ? "every iteration"
                              : "every " + std::to_string(store.every) + " iterations";
    const auto number = static_cast<std::uint32_t>(&store - model_.stores.data());
    std::vector<std::string> names;
    for (const model::Event& event : model_.events) {
      if (std::count(event.stores.begin(), event.stores.end(), number) > 0)
        names.push_back(event.name);
    }
    return "iterations with " + joined(names, " or ");
  }

  void events() {
    if (model_.events.empty()) return;
    section(counted(model_.events.size(), "event"));
    std::vector<std::vector<Cell>> rows{header({"name", "scope", "for"})};
    for (const model::Event& event : model_.events) {
      std::vector<std::string> names;
      for (const std::uint32_t each : event.told) names.push_back(model_.stores[each].name);
      names.insert(names.end(), event.scripts.begin(), event.scripts.end());
      rows.push_back({{event.name},
                      {model::word_of(event.scope)},
                      {names.empty() ? "scripts that ask for it" : joined(names, ", ")}});
    }
    text_ += table_or_paragraphs(rows, look_);
  }

  static std::string when_it_runs(model::Schedule runs) {
    if (runs == model::Schedule::server) return "";
    const std::string word = std::string("; runs ") + model::word_of(runs);
    if (runs == model::Schedule::harvest)
      return word +
             ", in phases of leat_idle_begin, LD_PRELOAD=libleat_pmpi.so or "
             "OMP_TOOL_LIBRARIES=libleat_ompt.so";
    if (runs == model::Schedule::coordinated)
      return word +
             ", from collectives on that leat_after_collective or LD_PRELOAD=libleat_pmpi.so tells "
             "of";
    return word;
  }

  void stores() {
    section(counted(model_.stores.size(), "store"));
    if (model_.stores.empty()) return;
    std::vector<std::vector<Cell>> rows{header({"name", "plugin", "takes", "options"})};
    for (const model::Store& store : model_.stores) {
      std::vector<std::string> options;
      for (const model::Option& each : store.options) {
        options.push_back(each.name + "=" + each.value);
      }
      rows.push_back({{store.name},
                      {store.plugin()},
                      {what_it_takes(store) + (store.waits ? "" : ", but while it is busy") +
                       when_it_runs(store.runs)},
                      {joined(options, "  "), Paint::dim}});
    }
    text_ += table_or_paragraphs(rows, look_);
  }

  const CheckReport& report_;
  const model::Model& model_;
  Look look_;
  std::string text_;
};

}  // namespace

std::string screen(const CheckReport& report, const Look& look) {
  return report.model ? CheckScreen(report, look).run() : "";
}

// What `leat check --json` prints.

namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(const std::optional<std::uint64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

const char* severity(model::Severity severity) {
  switch (severity) {
    case model::Severity::error:
      return "error";
    case model::Severity::warning:
      return "warning";
    case model::Severity::note:
      return "note";
  }
  return "";
}

Json diagnostic(const model::Diagnostic& each) {
  return {{"severity", severity(each.severity)},
          {"file", each.where.file},
          {"line", each.where.line},
          {"column", each.where.column},
          {"message", each.message}};
}

// As in other places, and what the command line makes of it.
Json variable(const CheckReport& report, const model::VariableEstimate& estimate) {
  const model::Variable& each = report.model->variables[estimate.variable];
  Json said = model::to_json(*report.model, each);
  said["shape"] = report.shapes[estimate.variable];
  said["stores"] = Json::array();
  for (const std::uint32_t store : each.stores)
    said["stores"].push_back(report.model->stores[store].name);
  said["bytes_per_rank"] = number_or_null(estimate.bytes_per_rank);
  said["why_unknown"] = estimate.why_unknown;
  return said;
}

Json script(const CheckedScript& each) {
  Json functions = Json::array();
  for (const CheckedFunction& function : each.functions) {
    functions.push_back(
        {{"name", function.name},
         {"variables", function.variables ? Json(*function.variables) : Json(nullptr)},
         {"every", function.every},
         {"products", function.products},
         {"publishes", function.publishes},
         {"events", function.events}});
  }
  return {{"name", each.name}, {"file", each.file}, {"functions", std::move(functions)}};
}

Json memory(const CheckReport& report) {
  return {{"ranks_per_node", report.per_node},
          {"bytes_per_rank", report.memory.known_bytes_per_rank},
          {"bytes_per_node", report.memory.known_bytes_per_node},
          {"complete", report.memory_complete},
          {"buffer_bytes", report.memory.buffer_bytes},
          {"iterations_that_fit", number_or_null(report.iterations_that_fit)}};
}

}  // namespace

std::string json(const CheckReport& report) {
  Json root{{"file", report.options.file}, {"good", report.good()}};
  root["diagnostics"] = Json::array();
  for (const auto& each : report.diagnostics) root["diagnostics"].push_back(diagnostic(each));
  if (report.model) {
    root["simulation"] = report.model->name;
    root["dedicated_cores"] = report.model->architecture.dedicated_cores;
    root["mode"] = model::word_of(report.model->architecture.mode);
    root["variables"] = Json::array();
    for (const auto& each : report.memory.variables) {
      root["variables"].push_back(variable(report, each));
    }
    root["stores"] = Json::array();
    for (const auto& each : report.model->stores)
      root["stores"].push_back(Json(model::to_json(each)));
    root["events"] = Json(model::to_json(*report.model)["events"]);
    root["scripts"] = Json::array();
    for (const auto& each : report.scripts) root["scripts"].push_back(script(each));
    root["memory"] = memory(report);
    root["set_by_simulation"] = report.set_by_simulation;
    root["sizes_need"] = report.sizes_need;
    root["placeholders"] = report.placeholders;
    root["sizes_at_writes"] = report.sizes_at_writes;
    if (!report.server_place.empty())
      root["placement"] = {{"server", report.server_place}, {"buffer", report.memory_place}};
  }
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace leat::cli
