// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/run_description.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {
namespace {

using nlohmann::json;

constexpr char kName[] = "leat_run";
constexpr int kFormat = 1;  // of the text; one that is only added to keeps its number

// What is as most are is left out: thousands of variables are described.
template <class T>
void put(json* to, const char* key, const T& value, const T& usual) {
  if (value != usual) (*to)[key] = value;
}
void put(json* to, const char* key, const char* text) {
  put(to, key, std::string(text), std::string());
}

void put_options(json* to, const leat_option* options, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) (*to)["options"][options[i].name] = options[i].value;
}

json described(const leat_dimension& dimension) {
  json said{{"name", dimension.name}};
  put(&said, "ghost_low", dimension.ghost_low, std::int64_t{0});
  put(&said, "ghost_high", dimension.ghost_high, std::int64_t{0});
  put(&said, "varying", dimension.varying, 0);
  put(&said, "centering", dimension.centering, 0u);
  return said;
}

json described(const leat_run& run, const leat_variable& variable) {
  json said{{"name", variable.name}, {"type", variable.type}};
  put(&said, "unit", variable.unit);
  put(&said, "description", variable.description);
  for (std::uint32_t d = 0; d < variable.dims; ++d)
    said["dims"].push_back(described(variable.dimension[d]));
  put(&said, "global", variable.has_global, 0);
  put(&said, "time_varying", variable.time_varying, 1);
  put_options(&said, variable.options, variable.option_count);
  if (leat_variable_mesh(&run, &variable)) {
    said["mesh"] = variable.mesh;
    said["centering"] = variable.centering;
  }
  put(&said, "standard_name", variable.standard_name);
  put(&said, "cell_methods", variable.cell_methods);
  return said;
}

json described(const leat_mesh& mesh) {
  json said{{"name", mesh.name}, {"kind", mesh.kind}, {"dims", mesh.dims}};
  put(&said, "unit", mesh.unit);
  put(&said, "description", mesh.description);
  if (mesh.kind == LEAT_MESH_UNIFORM || mesh.kind == LEAT_MESH_AMR) {
    said["origin"] = std::vector<double>(mesh.origin, mesh.origin + mesh.dims);
    said["spacing"] = std::vector<double>(mesh.spacing, mesh.spacing + mesh.dims);
    if (mesh.kind == LEAT_MESH_AMR) said["ratio"] = mesh.ratio;
    if (mesh.kind == LEAT_MESH_AMR) put(&said, "levels", mesh.levels, 0);
    return said;
  }
  said["coordinates"] =
      std::vector<std::int32_t>(mesh.coordinate, mesh.coordinate + mesh.coordinate_count);
  if (mesh.kind != LEAT_MESH_UNSTRUCTURED) return said;
  said["connectivity"] = mesh.connectivity;
  said["offsets"] = mesh.offsets;
  said["types"] = mesh.types;
  said["cell_type"] = mesh.cell_type;
  return said;
}

json described(const leat_run& run) {
  json said{{"format", kFormat}, {"store", run.store}, {"ranks", run.ranks}};
  put_options(&said, run.options, run.option_count);
  said["variables"] = json::array();
  for (std::uint64_t i = 0; i < run.variable_count; ++i)
    said["variables"].push_back(described(run, *leat_variable_at(&run, i)));
  for (std::uint64_t i = 0; i < leat_run_mesh_count(&run); ++i)
    said["meshes"].push_back(described(*leat_mesh_at(&run, i)));
  if (leat_run_time_parameter(&run) < 0) return said;
  said["time_parameter"] = run.time_parameter;
  put(&said, "time_unit", run.time_unit);
  put(&said, "calendar", run.calendar);
  return said;
}

template <class T, std::size_t n>
std::uint32_t copy_list(const json& values, T (&to)[n]) {
  const std::size_t count = std::min(n, values.size());
  for (std::size_t i = 0; i < count; ++i) values[i].get_to(to[i]);
  return static_cast<std::uint32_t>(count);
}

}  // namespace

void describe_run(hid_t file, const leat_run& run) {
  if (has_attribute(file, kName)) return;
  set_attribute(file, kName, described(run).dump(-1, ' ', false, json::error_handler_t::replace));
}

struct DescribedRun::Reader {
  DescribedRun& to;

  const char* keep(std::string text) {
    to.texts_.push_back(std::move(text));
    return to.texts_.back().c_str();
  }
  const char* text(const json& from, const char* key) { return keep(from.value(key, "")); }

  const std::vector<leat_option>& options(const json& from) {
    to.options_.emplace_back();
    const auto all = from.find("options");
    if (all == from.end()) return to.options_.back();
    for (const auto& [name, value] : all->items())
      to.options_.back().push_back({keep(name), keep(value)});
    return to.options_.back();
  }

  leat_dimension dimension(const json& from) {
    return {keep(from.at("name")), from.value("ghost_low", std::int64_t{0}),
            from.value("ghost_high", std::int64_t{0}), from.value("varying", 0),
            from.value("centering", 0u)};
  }

  // A variable or a mesh, with what both have.
  template <class Described>
  Described begun(const json& from) {
    Described made{};
    made.size = sizeof made;
    made.name = keep(from.at("name"));
    made.unit = text(from, "unit");
    made.description = text(from, "description");
    return made;
  }

  leat_variable variable(const json& from) {
    auto made = begun<leat_variable>(from);
    made.type = from.at("type");
    for (const json& one : from.value("dims", json::array())) {
      if (made.dims < LEAT_PLUGIN_MAX_DIMS) made.dimension[made.dims++] = dimension(one);
    }
    made.has_global = from.value("global", 0);
    made.time_varying = from.value("time_varying", 1);
    const std::vector<leat_option>& all = options(from);
    made.options = all.data();
    made.option_count = all.size();
    made.mesh = from.value("mesh", -1);
    made.centering = from.value("centering", std::uint32_t{LEAT_ZONAL});
    made.standard_name = text(from, "standard_name");
    made.cell_methods = text(from, "cell_methods");
    return made;
  }

  leat_mesh mesh(const json& from) {
    auto made = begun<leat_mesh>(from);
    made.kind = from.at("kind");
    made.dims = std::min(from.at("dims").get<std::uint32_t>(), 3u);
    copy_list(from.value("origin", json::array()), made.origin);
    copy_list(from.value("spacing", json::array()), made.spacing);
    made.coordinate_count = copy_list(from.value("coordinates", json::array()), made.coordinate);
    made.connectivity = from.value("connectivity", -1);
    made.offsets = from.value("offsets", -1);
    made.types = from.value("types", -1);
    made.cell_type = from.value("cell_type", 0u);
    made.ratio = std::max(from.value("ratio", 2), 2);
    made.levels = std::max(from.value("levels", 0), 0);
    return made;
  }

  void read(const json& from) {
    for (const json& one : from.at("variables")) to.variables_.push_back(variable(one));
    for (const json& one : from.value("meshes", json::array())) to.meshes_.push_back(mesh(one));
    leat_run& run = to.run_;
    run.store = text(from, "store");
    run.ranks = run.node_ranks = from.at("ranks");
    run.variables = to.variables_.data();
    run.variable_count = to.variables_.size();
    run.variable_stride = sizeof(leat_variable);
    const std::vector<leat_option>& all = options(from);
    run.options = all.data();
    run.option_count = all.size();
    run.time_parameter = from.value("time_parameter", -1);
    run.time_unit = text(from, "time_unit");
    run.calendar = text(from, "calendar");
    run.meshes = to.meshes_.data();
    run.mesh_count = to.meshes_.size();
    run.mesh_stride = sizeof(leat_mesh);
  }

  // Numbers that lead nowhere would be followed.
  void expect_sound() const {
    const auto count = static_cast<std::int64_t>(to.variables_.size());
    for (const leat_mesh& mesh : to.meshes_) {
      std::vector<std::int32_t> named(mesh.coordinate, mesh.coordinate + mesh.coordinate_count);
      for (const std::int32_t one : named) {
        if (one < 0) throw std::runtime_error("a mesh has no coordinates");
      }
      named.insert(named.end(), {mesh.connectivity, mesh.offsets, mesh.types});
      if (*std::max_element(named.begin(), named.end()) >= count)
        throw std::runtime_error("a mesh is made of a variable that is not there");
    }
  }
};

DescribedRun::DescribedRun(hid_t file) {
  if (!has_attribute(file, kName))
    throw std::runtime_error(
        "the file has no attribute leat_run, in which Leat says what is in it; files of a store "
        "with layout=\"damaris\" have none");
  Reader reader{*this};
  run_.size = sizeof run_;
  run_.simulation = reader.keep(text_attribute(file, "simulation", ""));
  run_.session = reader.keep(text_attribute(file, "session", ""));
  run_.xml = reader.keep(text_attribute(file, "leat_xml", ""));
  run_.description = reader.keep(text_attribute(file, "title", ""));
  try {
    const json said = json::parse(text_attribute(file, kName));
    if (said.at("format") != kFormat)
      throw std::runtime_error("a newer version of Leat has written it");
    reader.read(said);
    reader.expect_sound();
  } catch (const std::exception& e) {
    throw std::runtime_error(std::string("the attribute leat_run cannot be read: ") + e.what());
  }
}

}  // namespace leat::hdf5
