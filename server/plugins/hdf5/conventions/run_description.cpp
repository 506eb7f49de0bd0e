// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/run_description.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "lib/model/seen_fields.hpp"
#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"

namespace leat::hdf5 {
namespace {

using nlohmann::json;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr int kFormat = 1;  // of the text; one that is only added to keeps its number

// What has its default is left out: thousands of variables are described.
template <class T>
void put(json* to, const char* key, const T& value, const T& usual) {
  if (value != usual) (*to)[key] = value;
}

// Puts the fields that the XML gives as they are, called as in lib/model/fields.def.
struct PutField {
  json* to;

  void operator()(const model::SeenField& field, const std::string& usual, const char* text) const {
    put(to, field.key, std::string(text), usual);
  }
  void operator()(const model::SeenField& field, bool usual, std::int32_t value) const {
    put(to, field.key, value, static_cast<std::int32_t>(usual));
  }
};

// Sets the attributes of a dataset. What is no text is seen in the shape of the dataset.
struct SetAttribute {
  hid_t dataset;

  void operator()(const model::SeenField& field, const std::string&, const char* text) const {
    if (*field.in_files && *text) set_attribute(dataset, field.in_files, text);
  }
  void operator()(const model::SeenField&, bool, std::int32_t) const {}
};

void put_options(json* to, const leat_option* options, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) (*to)["options"][options[i].name] = options[i].value;
}

json to_json(const leat_dimension& dimension) {
  json to{{"name", dimension.name}};
  put(&to, "ghost_low", dimension.ghost_low, std::int64_t{0});
  put(&to, "ghost_high", dimension.ghost_high, std::int64_t{0});
  put(&to, "varying", dimension.varying, 0);
  put(&to, "centering", dimension.centering, 0u);
  return to;
}

json to_json(const leat_run& run, const leat_variable& variable) {
  json to{{"name", variable.name}, {"type", variable.type}};
  model::each_seen_field_of_Variable(PutField{&to}, variable);
  for (std::uint32_t d = 0; d < variable.dims; ++d)
    to["dims"].push_back(to_json(variable.dimension[d]));
  put(&to, "global", variable.has_global, 0);
  put_options(&to, variable.options, variable.option_count);
  if (leat_variable_mesh(&run, &variable)) {
    to["mesh"] = variable.mesh;
    to["centering"] = variable.centering;
  }
  return to;
}

json to_json(const leat_mesh& mesh) {
  json to{{"name", mesh.name}, {"kind", mesh.kind}, {"dims", mesh.dims}};
  model::each_seen_field_of_Mesh(PutField{&to}, mesh);
  if (mesh.kind == LEAT_MESH_UNIFORM || mesh.kind == LEAT_MESH_AMR) {
    // Without, nobody has said so far where it lies.
    if (has_place(mesh)) {
      to["origin"] = std::vector<double>(mesh.origin, mesh.origin + mesh.dims);
      to["spacing"] = std::vector<double>(mesh.spacing, mesh.spacing + mesh.dims);
    }
    if (mesh.kind == LEAT_MESH_AMR) to["ratio"] = mesh.ratio;
    if (mesh.kind == LEAT_MESH_AMR) put(&to, "levels", mesh.levels, 0);
    return to;
  }
  to["coordinates"] =
      std::vector<std::int32_t>(mesh.coordinate, mesh.coordinate + mesh.coordinate_count);
  if (mesh.kind != LEAT_MESH_UNSTRUCTURED) return to;
  to["connectivity"] = mesh.connectivity;
  to["offsets"] = mesh.offsets;
  to["types"] = mesh.types;
  to["cell_type"] = mesh.cell_type;
  return to;
}

json to_json(const leat_run& run) {
  json to{{"format", kFormat}, {"store", run.store}, {"ranks", run.ranks}};
  put_options(&to, run.options, run.option_count);
  to["variables"] = json::array();
  for (std::uint64_t i = 0; i < run.variable_count; ++i)
    to["variables"].push_back(to_json(run, *leat_variable_at(&run, i)));
  for (std::uint64_t i = 0; i < leat_run_mesh_count(&run); ++i)
    to["meshes"].push_back(to_json(*leat_mesh_at(&run, i)));
  if (leat_run_time_parameter(&run) < 0) return to;
  to["time_parameter"] = run.time_parameter;
  put(&to, "time_unit", std::string(run.time_unit), {});
  put(&to, "calendar", std::string(run.calendar), {});
  return to;
}

template <class T, std::size_t n>
std::uint32_t copy_list(const json& values, T (&to)[n]) {
  const std::size_t count = std::min(n, values.size());
  for (std::size_t i = 0; i < count; ++i) values[i].get_to(to[i]);
  return static_cast<std::uint32_t>(count);
}

}  // namespace

namespace {

void put_description(hid_t file, const json& run) {
  set_attribute(file, kRunText, run.dump(-1, ' ', false, json::error_handler_t::replace));
}

// Where its meshes lie stays, as long as the run that goes on has not said it.
void keep_places(const json& before, json* now) {
  if (!now->contains("meshes")) return;
  for (json& mesh : (*now)["meshes"])
    for (const json& old : before.value("meshes", json::array())) {
      if (mesh.contains("origin") || !old.contains("origin") || old["name"] != mesh["name"] ||
          old["kind"] != mesh["kind"] || old["dims"] != mesh["dims"])
        continue;
      mesh["origin"] = old["origin"];
      mesh["spacing"] = old["spacing"];
    }
}

}  // namespace

void describe_run(hid_t file, const leat_run& run) {
  if (!has_attribute(file, kRunText)) put_description(file, to_json(run));
}

void describe_run_anew(hid_t file, const leat_run& run) {
  json now = to_json(run);
  const json before = json::parse(text_attribute(file, kRunText, "{}"), nullptr, false);
  if (before.is_object()) keep_places(before, &now);
  remove_attribute(file, kRunText);
  put_description(file, now);
}

void describe_variable(hid_t dataset, const leat_variable& variable) {
  model::each_seen_field_of_Variable(SetAttribute{dataset}, variable);
}

StoredAs stored_as(const leat_variable& variable) {
  return leat::stored_as(std::span(variable.options, variable.option_count));
}

void describe_storing(hid_t dataset, const leat_variable& variable) {
  const StoredAs as = stored_as(variable);
  if (as.is_packed()) {
    set_attribute(dataset, "scale_factor", std::vector<double>{as.scale});
    set_attribute(dataset, "add_offset", std::vector<double>{as.offset});
  }
  const std::string error = option(variable.options, variable.option_count, kErrorIn);
  if (!error.empty())
    set_attribute(dataset, "ancillary_variables", error.substr(error.rfind('/') + 1));
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

  // Reads the fields that the XML gives as they are.
  struct TakeField {
    Reader& reader;
    const json& from;

    void operator()(const model::SeenField& field, const auto&, const char*& text) const {
      text = reader.text(from, field.key);
    }
    void operator()(const model::SeenField& field, bool usual, std::int32_t& value) const {
      value = from.value(field.key, static_cast<std::int32_t>(usual));
    }
  };

  leat_variable variable(const json& from) {
    leat_variable made{};
    made.size = sizeof made;
    made.name = keep(from.at("name"));
    model::each_seen_field_of_Variable(TakeField{*this, from}, made);
    made.type = from.at("type");
    for (const json& one : from.value("dims", json::array())) {
      if (made.dims < LEAT_PLUGIN_MAX_DIMS) made.dimension[made.dims++] = dimension(one);
    }
    made.has_global = from.value("global", 0);
    const std::vector<leat_option>& all = options(from);
    made.options = all.data();
    made.option_count = all.size();
    made.mesh = from.value("mesh", -1);
    made.centering = from.value("centering", std::uint32_t{LEAT_ZONAL});
    return made;
  }

  leat_mesh mesh(const json& from) {
    leat_mesh made{};
    made.size = sizeof made;
    made.name = keep(from.at("name"));
    model::each_seen_field_of_Mesh(TakeField{*this, from}, made);
    made.kind = from.at("kind");
    made.dims = std::min(from.at("dims").get<std::uint32_t>(), 3u);
    if (made.kind == LEAT_MESH_UNIFORM || made.kind == LEAT_MESH_AMR) {
      std::fill_n(made.origin, made.dims, kUnknown);
      std::fill_n(made.spacing, made.dims, kUnknown);
    }
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
  if (!has_attribute(file, kRunText))
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
    const json run = json::parse(text_attribute(file, kRunText));
    if (run.at("format") != kFormat)
      throw std::runtime_error("a newer version of Leat has written it");
    reader.read(run);
    reader.expect_sound();
  } catch (const std::exception& e) {
    throw std::runtime_error(std::string("the attribute leat_run cannot be read: ") + e.what());
  }
}

std::unique_ptr<DescribedRun> described_run(hid_t file) {
  try {
    return std::make_unique<DescribedRun>(file);
  } catch (const std::exception&) {
    return nullptr;
  }
}

bool has_one_row(const leat_run& run) {
  return option(run.options, run.option_count, kOneRow) == "true";
}

}  // namespace leat::hdf5
