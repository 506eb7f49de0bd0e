// SPDX-License-Identifier: Apache-2.0
// What `leat check --json` prints.
#include <nlohmann/json.hpp>

#include "lib/model/run_description.hpp"
#include "lib/model/words.hpp"
#include "server/command/check_report.hpp"

namespace leat::command {
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
  Json said = model::in_words(*report.model, each);
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
    root["mode"] = model::word_of(model::kEndModes, report.model->architecture.mode);
    root["variables"] = Json::array();
    for (const auto& each : report.memory.variables) {
      root["variables"].push_back(variable(report, each));
    }
    root["stores"] = Json::array();
    for (const auto& each : report.model->stores)
      root["stores"].push_back(Json(model::in_words(each)));
    root["events"] = Json(model::in_words(*report.model)["events"]);
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

}  // namespace leat::command
