// SPDX-License-Identifier: Apache-2.0
#include "lib/model/run_description.hpp"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "lib/model/fields.hpp"
#include "lib/model/seen_fields.hpp"
#include "lib/model/words.hpp"

namespace leat::model {
namespace {

using nlohmann::json;

template <class T>
void put(json* to, const char* key, const T& value, const T& usual = {}) {
  if (value != usual) (*to)[key] = value;
}

// Puts the fields that plugins see too, which have their numbers: true is 1.
struct PutSeen {
  json* to;

  void operator()(const SeenField& field, bool usual, bool value) const {
    put(to, field.key, static_cast<int>(value), static_cast<int>(usual));
  }
  void operator()(const SeenField& field, const std::string& usual, const std::string& text) const {
    put(to, field.key, text, usual);
  }
};

// The fields of fields.def that users are told of, be they as most are.
template <class Struct>
json reported(const Struct& of) {
  json to;
  each_field(of, [&to](const Field& field, const auto& value, const auto&) {
    if (field.audience == Audience::leatd) return;
    if constexpr (std::is_enum_v<std::decay_t<decltype(value)>>)
      to[field.key] = word_of(value);
    else
      to[field.key] = value;
  });
  return to;
}

void put_options(json* to, const std::vector<Option>& options) {
  for (const Option& each : options) (*to)["options"][each.name] = each.value;
}

json numbered(const Dimension& dimension) {
  json to{{"name", dimension.name}};
  put(&to, "ghost_low", dimension.ghost_low);
  put(&to, "ghost_high", dimension.ghost_high);
  put(&to, "varying", static_cast<int>(dimension.varying));
  return to;
}

json numbered(const Variable& variable, const Layout& layout) {
  json to{{"name", variable.name}, {"type", layout.type}};
  each_seen_field_of_Variable(PutSeen{&to}, variable);
  for (const Dimension& each : layout.dimensions) to["dims"].push_back(numbered(each));
  for (std::size_t d = 0; d < variable.centerings.size(); ++d)
    put(&to["dims"][d], "centering", variable.centerings[d], variable.centering);
  put(&to, "global", static_cast<int>(layout.has_global));
  put_options(&to, variable.options);
  if (variable.mesh) {
    to["mesh"] = *variable.mesh;
    to["centering"] = variable.centering;
  }
  return to;
}

json numbered(const Mesh& mesh) {
  json to{{"name", mesh.name}, {"kind", mesh.kind}, {"dims", mesh.dims}};
  each_seen_field_of_Mesh(PutSeen{&to}, mesh);
  put(&to, "origin", mesh.origin);
  put(&to, "spacing", mesh.spacing);
  for (const MeshNumber& each : mesh.given)
    to[each.is_spacing ? "spacing" : "origin"][each.axis] = nullptr;  // known at run time
  if (mesh.kind == MeshKind::amr) to["ratio"] = mesh.ratio;
  put(&to, "levels", mesh.levels);
  put(&to, "coordinates", mesh.coordinates);
  if (mesh.connectivity) to["connectivity"] = *mesh.connectivity;
  if (mesh.offsets) to["offsets"] = *mesh.offsets;
  if (mesh.types) to["types"] = *mesh.types;
  put(&to, "cell_type", mesh.cell_type);
  return to;
}

json with_scripts(const Event& event) {
  json to = reported(event);
  put(&to, "scripts", event.scripts);
  return to;
}

}  // namespace

json to_json_for_scripts(const Model& model) {
  json to{{"simulation", model.name},
          {"variables", json::array()},
          {"meshes", json::array()},
          {"parameters", json::array()},
          {"events", json::array()}};
  for (const Variable& each : model.variables)
    to["variables"].push_back(numbered(each, model.layouts[each.layout]));
  for (const Mesh& each : model.meshes) to["meshes"].push_back(numbered(each));
  for (const Parameter& each : model.parameters)
    to["parameters"].push_back({{"name", each.name}, {"kind", word_of(each.kind)}});
  for (const Event& each : model.events) to["events"].push_back(with_scripts(each));
  if (!model.time) return to;
  to["time_parameter"] = model.time->parameter;
  put(&to, "time_unit", model.time->unit);
  put(&to, "calendar", model.time->calendar);
  return to;
}

// In words of the XML, for users

namespace {

// Users find these in every variable and mesh.
void put_texts(json* to) {
  for (const char* key : {"unit", "description"}) to->emplace(key, "");
}

// A list for each thing that is said of them, the first two always.
void put_dimensions(json* to, const Layout& layout) {
  json shape = json::array(), names = json::array(), global, ghosts;
  bool any_ghosts = false;
  for (const Dimension& each : layout.dimensions) {
    shape.push_back(each.varying ? "?" : each.extent.text);
    names.push_back(each.name);
    global.push_back(each.global.text);
    ghosts.push_back({each.ghost_low, each.ghost_high});
    any_ghosts = any_ghosts || each.ghost_low > 0 || each.ghost_high > 0;
  }
  to->erase("dims");
  (*to)["shape"] = std::move(shape);
  (*to)["dimensions"] = std::move(names);
  if (layout.has_global) (*to)["global"] = std::move(global);
  put(to, "blocks", layout.blocks, std::int64_t{1});
  if (any_ghosts) (*to)["ghosts"] = std::move(ghosts);
}

json mesh_json(const Model& model, const Mesh& mesh) {
  json to = numbered(mesh);
  for (const MeshNumber& each : mesh.given)
    to[each.is_spacing ? "spacing" : "origin"][each.axis] = each.expression.text;
  put_texts(&to);
  to["type"] = word_of(mesh.kind);
  to.erase("kind");
  const auto name_of = [&model](const json& number) {
    return model.variables[number.get<std::uint32_t>()].name;
  };
  for (const char* key : {"connectivity", "offsets", "types"})
    if (to.contains(key)) to[key] = name_of(to[key]);
  if (to.contains("coordinates"))
    for (json& each : to["coordinates"]) each = name_of(each);
  return to;
}

json parameter_json(const Parameter& parameter) {
  json to = reported(parameter);
  to["type"] = word_of(parameter.kind);
  to["value"] = to_json(parameter.value);
  return to;
}

json event_json(const Model& model, const Event& event) {
  json to = with_scripts(event);
  for (const std::uint32_t each : event.stores) to["stores"].push_back(model.stores[each].name);
  for (const std::uint32_t each : event.told) to["plugins"].push_back(model.stores[each].name);
  return to;
}

}  // namespace

json to_json(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

json to_json(const Store& store) {
  json to = reported(store);
  to["plugin"] = store.plugin();
  to["every"] = store.every;
  to["when_slow"] = store.waits ? "wait" : "skip";
  to["publishes"] = store.publishes;
  to["options"] = json::object();
  put_options(&to, store.options);
  if (store.runs != Schedule::server) to["runs"] = word_of(store.runs);
  put(&to, "function", store.function);
  if (store.awaits_event) to["awaits_event"] = true;
  return to;
}

json to_json(const Model& model, const Variable& variable) {
  const Layout& layout = model.layouts[variable.layout];
  json to = numbered(variable, layout);
  put_texts(&to);
  to["type"] = scalar_name(layout.type);
  to["time_varying"] = variable.time_varying;
  put_dimensions(&to, layout);
  if (!variable.mesh) return to;
  to["mesh"] = model.meshes[*variable.mesh].name;
  to["centering"] = word_of(variable.centering);
  return to;
}

json to_json(const Model& model) {
  json to{{"simulation", model.name},   {"description", model.description},
          {"variables", json::array()}, {"parameters", json::array()},
          {"meshes", json::array()},    {"stores", json::array()},
          {"events", json::array()}};
  for (const Variable& each : model.variables) to["variables"].push_back(to_json(model, each));
  for (const Parameter& each : model.parameters) to["parameters"].push_back(parameter_json(each));
  for (const Mesh& each : model.meshes) to["meshes"].push_back(mesh_json(model, each));
  for (const Store& each : model.stores) to["stores"].push_back(to_json(each));
  for (const Event& each : model.events) to["events"].push_back(event_json(model, each));
  return to;
}

}  // namespace leat::model
