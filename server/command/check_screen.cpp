// SPDX-License-Identifier: Apache-2.0
// What `leat check` shows on a terminal.
#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/model/words.hpp"
#include "server/command/check_report.hpp"

namespace leat::command {
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

  static std::vector<Cell> header(const std::vector<std::string>& titles) {
    std::vector<Cell> row;
    for (const std::string& title : titles) row.push_back({title, Paint::dim});
    return row;
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
                      {model::word_of(model::kScopes, event.scope)},
                      {names.empty() ? "scripts that ask for it" : joined(names, ", ")}});
    }
    text_ += table_or_paragraphs(rows, look_);
  }

  static std::string when_it_runs(model::Schedule runs) {
    if (runs == model::Schedule::server) return "";
    const std::string word = std::string("; runs ") + model::word_of(model::kSchedules, runs);
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

}  // namespace leat::command
