// SPDX-License-Identifier: Apache-2.0
#include "lib/base/bytes.hpp"
#include "server/command/check_report.hpp"
#include "server/command/terminal.hpp"

namespace leat::command {
namespace {

std::string joined(const std::vector<std::string>& items, const char* between) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : between) + item;
  return text;
}

std::string counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

class Screen {
 public:
  Screen(const CheckReport& report, bool colours)
      : report_(report), model_(*report.model), colours_(colours) {}

  std::string run() {
    heading();
    variables();
    stores();
    memory();
    parameters();
    return std::move(text_);
  }

 private:
  void section(const std::string& title) { text_ += "\n" + paint(title, Paint::bold) + "\n"; }

  std::string paint(const std::string& text, Paint paint) const {
    return painted(text, paint, colours_);
  }

  void heading() {
    text_ += paint(model_.name, Paint::bold);
    if (!model_.description.empty()) text_ += ": " + model_.description;
    text_ += "  " + paint("(" + report_.options.file + ")", Paint::dim) + "\n";
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
    text_ += table(rows, colours_);
  }

  std::vector<Cell> row(const model::VariableEstimate& estimate) {
    const model::Variable& variable = model_.variables[estimate.variable];
    const model::Layout& layout = model_.layouts[variable.layout];
    const std::vector<std::string>& shape = report_.shapes[estimate.variable];
    Cell bytes{"", Paint::plain, true};
    if (estimate.bytes_per_rank) {
      bytes.text = format_bytes(*estimate.bytes_per_rank);
    } else {
      bytes.text = estimate.why_unknown;
      bytes.paint = estimate.impossible ? Paint::red : Paint::yellow;
    }
    return {{variable.name},
            {scalar_name(layout.type)},
            {shape.empty() ? "scalar" : joined(shape, " x ")},
            {variable.unit.empty() ? "-" : variable.unit},
            {stores_of(variable)},
            bytes};
  }

  std::string stores_of(const model::Variable& variable) const {
    std::vector<std::string> names;
    for (const std::uint32_t store : variable.stores) names.push_back(model_.stores[store].name);
    return names.empty() ? "none" : joined(names, ", ");
  }

  void stores() {
    section(counted(model_.stores.size(), "store"));
    std::vector<std::vector<Cell>> rows;
    for (const model::Store& store : model_.stores) {
      std::vector<std::string> options;
      for (const model::Option& each : store.options) {
        options.push_back(each.name + "=" + each.value);
      }
      rows.push_back({{store.name},
                      {store.type.empty() ? store.library : store.type},
                      {store.every == 1 ? "every iteration"
                                        : "every " + std::to_string(store.every) + " iterations"},
                      {joined(options, "  "), Paint::dim}});
    }
    text_ += table(rows, colours_);
  }

  void memory() {
    const model::MemoryEstimate& memory = report_.memory;
    section("Memory of one iteration");
    const char* rest = memory.known_bytes_per_rank == 0 ? "depends on what the simulation sets"
                                                        : "and what the simulation's values add";
    const Cell open{report_.memory_complete ? "" : rest, Paint::yellow};
    std::vector<std::vector<Cell>> rows{
        {{"one rank"}, known_bytes(memory.known_bytes_per_rank), open},
        {{"node of " + counted(static_cast<std::uint64_t>(report_.per_node), "rank")},
         known_bytes(memory.known_bytes_per_node),
         open},
        {{"buffer of a node"}, {format_bytes(memory.buffer_bytes)}, room()}};
    if (report_.options.ranks) rows.insert(rows.end() - 1, whole_run(*report_.options.ranks));
    for (auto& row : rows) row[1].right = true;
    text_ += table(rows, colours_);
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

  void parameters() {
    if (report_.set_by_simulation.empty()) return;
    text_ += "\nset by the simulation: " +
             paint(joined(report_.set_by_simulation, ", "), Paint::yellow) + "\n";
  }

  const CheckReport& report_;
  const model::Model& model_;
  bool colours_;
  std::string text_;
};

}  // namespace

std::string screen(const CheckReport& report, bool colours) {
  return report.model ? Screen(report, colours).run() : "";
}

}  // namespace leat::command
