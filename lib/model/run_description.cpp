// SPDX-License-Identifier: Apache-2.0
#include "lib/model/run_description.hpp"

#include <nlohmann/json.hpp>

namespace leat::model {
namespace {

using nlohmann::json;

template <class T>
void put(json* to, const char* key, const T& value, const T& usual = {}) {
  if (value != usual) (*to)[key] = value;
}

void put_options(json* to, const std::vector<Option>& options) {
  for (const Option& each : options) (*to)["options"][each.name] = each.value;
}

json described(const Dimension& dimension) {
  json said{{"name", dimension.name}};
  put(&said, "ghost_low", dimension.ghost_low);
  put(&said, "ghost_high", dimension.ghost_high);
  put(&said, "varying", static_cast<int>(dimension.varying));
  return said;
}

json described(const Variable& variable, const Layout& layout) {
  json said{{"name", variable.name}, {"type", static_cast<int>(layout.type)}};
  put(&said, "unit", variable.unit);
  put(&said, "description", variable.description);
  for (const Dimension& each : layout.dimensions) said["dims"].push_back(described(each));
  put(&said, "global", static_cast<int>(layout.has_global));
  put(&said, "time_varying", static_cast<int>(variable.time_varying), 1);
  put_options(&said, variable.options);
  if (variable.mesh) {
    said["mesh"] = *variable.mesh;
    said["centering"] = static_cast<int>(variable.centering);
  }
  put(&said, "standard_name", variable.standard_name);
  put(&said, "cell_methods", variable.cell_methods);
  return said;
}

json described(const Mesh& mesh) {
  json said{{"name", mesh.name}, {"kind", static_cast<int>(mesh.kind)}, {"dims", mesh.dims}};
  put(&said, "unit", mesh.unit);
  put(&said, "description", mesh.description);
  put(&said, "origin", mesh.origin);
  put(&said, "spacing", mesh.spacing);
  put(&said, "coordinates", mesh.coordinates);
  if (mesh.connectivity) said["connectivity"] = *mesh.connectivity;
  if (mesh.offsets) said["offsets"] = *mesh.offsets;
  if (mesh.types) said["types"] = *mesh.types;
  put(&said, "cell_type", mesh.cell_type);
  return said;
}

const char* word_for(Parameter::Kind kind) {
  switch (kind) {
    case Parameter::Kind::integer:
      return "int";
    case Parameter::Kind::real:
      return "double";
    case Parameter::Kind::text:
      return "string";
  }
  return "";
}

json described(const Parameter& parameter) {
  return {{"name", parameter.name}, {"kind", word_for(parameter.kind)}};
}

}  // namespace

json described(const Model& model) {
  json said{{"simulation", model.name},
            {"variables", json::array()},
            {"meshes", json::array()},
            {"parameters", json::array()}};
  for (const Variable& each : model.variables)
    said["variables"].push_back(described(each, model.layouts[each.layout]));
  for (const Mesh& each : model.meshes) said["meshes"].push_back(described(each));
  for (const Parameter& each : model.parameters) said["parameters"].push_back(described(each));
  if (!model.time) return said;
  said["time_parameter"] = model.time->parameter;
  put(&said, "time_unit", model.time->unit);
  put(&said, "calendar", model.time->calendar);
  return said;
}

}  // namespace leat::model
