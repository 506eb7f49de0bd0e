// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/model_json.hpp"

#include <nlohmann/json.hpp>

namespace leat::server {
namespace {

using nlohmann::json;

json variable_as_json(const model::Variable& variable, const model::Layout& layout) {
  json dimensions = json::array();
  for (const model::Dimension& d : layout.dimensions) {
    dimensions.push_back(
        {{"name", d.name}, {"low", d.ghost_low}, {"high", d.ghost_high}, {"varying", d.varying}});
  }
  return {{"name", variable.name},
          {"unit", variable.unit},
          {"description", variable.description},
          {"type", scalar_name(layout.type)},
          {"dimensions", dimensions},
          {"global", layout.has_global},
          {"time_varying", variable.time_varying}};
}

}  // namespace

json model_as_json(const model::Model& model) {
  json variables = json::array(), parameters = json::array();
  for (const model::Variable& each : model.variables) {
    variables.push_back(variable_as_json(each, model.layouts[each.layout]));
  }
  for (const model::Parameter& each : model.parameters) {
    const char* kind = each.kind == model::Parameter::Kind::integer ? "int"
                       : each.kind == model::Parameter::Kind::real  ? "double"
                                                                    : "string";
    parameters.push_back({{"name", each.name}, {"kind", kind}});
  }
  return {{"simulation", model.name}, {"variables", variables}, {"parameters", parameters}};
}

}  // namespace leat::server
