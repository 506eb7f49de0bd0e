// SPDX-License-Identifier: Apache-2.0
#include "lib/model/run_description.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "lib/model/words.hpp"

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
  for (std::size_t d = 0; d < variable.centerings.size(); ++d)
    put(&said["dims"][d], "centering", static_cast<int>(variable.centerings[d]),
        static_cast<int>(variable.centering));
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
  if (mesh.kind == Mesh::Kind::amr) said["ratio"] = mesh.ratio;
  put(&said, "levels", mesh.levels);
  put(&said, "coordinates", mesh.coordinates);
  if (mesh.connectivity) said["connectivity"] = *mesh.connectivity;
  if (mesh.offsets) said["offsets"] = *mesh.offsets;
  if (mesh.types) said["types"] = *mesh.types;
  put(&said, "cell_type", static_cast<int>(mesh.cell_type));
  return said;
}

json described(const Event& event) {
  json said{{"name", event.name}, {"scope", word_of(event.scope)}};
  if (!event.scripts.empty()) said["scripts"] = event.scripts;
  return said;
}

json described(const Parameter& parameter) {
  return {{"name", parameter.name}, {"kind", word_of(parameter.kind)}};
}

}  // namespace

json described(const Model& model) {
  json said{{"simulation", model.name},
            {"variables", json::array()},
            {"meshes", json::array()},
            {"parameters", json::array()},
            {"events", json::array()}};
  for (const Variable& each : model.variables)
    said["variables"].push_back(described(each, model.layouts[each.layout]));
  for (const Mesh& each : model.meshes) said["meshes"].push_back(described(each));
  for (const Parameter& each : model.parameters) said["parameters"].push_back(described(each));
  for (const Event& each : model.events) said["events"].push_back(described(each));
  if (!model.time) return said;
  said["time_parameter"] = model.time->parameter;
  put(&said, "time_unit", model.time->unit);
  put(&said, "calendar", model.time->calendar);
  return said;
}

// In words of the XML, for others

namespace {

// What is as most are is said too, where those who look for it always find it.
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

json mesh_in_words(const Model& model, const Mesh& mesh) {
  json said = described(mesh);
  put_texts(&said);
  said["type"] = word_of(mesh.kind);
  said.erase("kind");
  const auto name_of = [&model](const json& number) {
    return model.variables[number.get<std::uint32_t>()].name;
  };
  for (const char* key : {"connectivity", "offsets", "types"})
    if (said.contains(key)) said[key] = name_of(said[key]);
  if (said.contains("coordinates"))
    for (json& each : said["coordinates"]) each = name_of(each);
  return said;
}

}  // namespace

json in_words(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

json in_words(const Store& store) {
  json said{{"name", store.name},         {"plugin", store.plugin()},
            {"type", store.type},         {"library", store.library},
            {"every", store.every},       {"when_slow", store.waits ? "wait" : "skip"},
            {"products", store.products}, {"publishes", store.publishes},
            {"options", json::object()}};
  put_options(&said, store.options);
  put<std::string>(&said, "runs", word_of(store.runs), "server");
  put(&said, "function", store.function);
  if (store.awaits_event) said["awaits_event"] = true;
  return said;
}

json in_words(const Model& model, const Event& event) {
  json said = described(event);
  for (const std::uint32_t each : event.stores) said["stores"].push_back(model.stores[each].name);
  for (const std::uint32_t each : event.told) said["plugins"].push_back(model.stores[each].name);
  return said;
}

json in_words(const Model& model, const Variable& variable) {
  const Layout& layout = model.layouts[variable.layout];
  json said = described(variable, layout);
  put_texts(&said);
  said["type"] = scalar_name(layout.type);
  said["time_varying"] = variable.time_varying;
  put_dimensions(&said, layout);
  if (!variable.mesh) return said;
  said["mesh"] = model.meshes[*variable.mesh].name;
  said["centering"] = word_of(variable.centering);
  return said;
}

json in_words(const Model& model) {
  json said{{"simulation", model.name},   {"description", model.description},
            {"variables", json::array()}, {"parameters", json::array()},
            {"meshes", json::array()},    {"stores", json::array()}};
  for (const Variable& each : model.variables) said["variables"].push_back(in_words(model, each));
  for (const Parameter& each : model.parameters)
    said["parameters"].push_back({{"name", each.name},
                                  {"type", word_of(each.kind)},
                                  {"value", in_words(each.value)},
                                  {"description", each.description}});
  for (const Mesh& each : model.meshes) said["meshes"].push_back(mesh_in_words(model, each));
  for (const Store& each : model.stores) said["stores"].push_back(in_words(each));
  said["events"] = json::array();
  for (const Event& each : model.events) said["events"].push_back(in_words(model, each));
  return said;
}

}  // namespace leat::model
