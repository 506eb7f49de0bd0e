// SPDX-License-Identifier: Apache-2.0
// Drives one plugin without a server: a JSON description on standard input, one line of JSON per
// call on standard output. leat_plugin.py is the other end. Data come from the formula of
// tests/support (leat_run.data).
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/model/seen_fields.hpp"
#include "server/include/plugin.h"
#include "server/pipeline/plugin_loader.hpp"

namespace {

using Json = nlohmann::json;

// Strings that outlive the run.
const char* keep(const std::string& text) {
  static std::deque<std::string> kept;
  kept.push_back(text);
  return kept.back().c_str();
}

std::vector<leat_option> options_of(const Json& json) {
  std::vector<leat_option> options;
  for (const auto& [name, value] : json.items()) options.push_back({keep(name), keep(value)});
  return options;
}

// Takes what fields.def says of a variable or a mesh.
struct TakeField {
  const Json& json;

  void operator()(const leat::model::SeenField& field, const auto&, const char*& text) const {
    text = keep(json.value(field.key, ""));
  }
  void operator()(const leat::model::SeenField& field, bool usual, std::int32_t& value) const {
    value = json.value(field.key, static_cast<std::int32_t>(usual));
  }
};

leat_variable variable_of(const Json& json, const std::vector<leat_option>& options) {
  leat_variable variable{};
  variable.size = sizeof variable;
  variable.name = keep(json.at("name"));
  leat::model::each_seen_field_of_Variable(TakeField{json}, variable);
  variable.type = json.at("type");
  for (const Json& dimension : json.at("dims")) {
    leat_dimension& d = variable.dimension[variable.dims++];
    d.name = keep(dimension.at("name"));
    d.ghost_low = dimension.value("low", 0);
    d.ghost_high = dimension.value("high", 0);
    d.varying = dimension.value("varying", 0);
    d.centering = dimension.value("centering", 0u);
  }
  variable.has_global = json.value("global", 0);
  variable.options = options.data();
  variable.option_count = options.size();
  variable.mesh = json.value("mesh", -1);
  variable.centering = json.value("nodal", 0) ? LEAT_NODAL : LEAT_ZONAL;
  return variable;
}

template <class To>
void copy_list(const Json& json, const char* name, To* to) {
  const std::vector<To> values = json.value(name, std::vector<To>{});
  std::copy(values.begin(), values.end(), to);
}

leat_mesh mesh_of(const Json& json) {
  leat_mesh mesh{};
  mesh.size = sizeof mesh;
  mesh.name = keep(json.at("name"));
  leat::model::each_seen_field_of_Mesh(TakeField{json}, mesh);
  mesh.kind = json.at("kind");
  mesh.dims = json.at("dims");
  copy_list(json, "origin", mesh.origin);
  copy_list(json, "spacing", mesh.spacing);
  copy_list(json, "coordinates", mesh.coordinate);
  mesh.coordinate_count = static_cast<std::uint32_t>(json.value("coordinates", Json{}).size());
  mesh.connectivity = json.value("connectivity", -1);
  mesh.offsets = json.value("offsets", -1);
  mesh.types = json.value("types", -1);
  mesh.cell_type = json.value("cell_type", 0u);
  mesh.ratio = json.value("ratio", 0);
  mesh.levels = json.value("levels", 0);
  return mesh;
}

void fill(std::vector<char>& data, std::uint64_t seed) {
  for (std::size_t at = 0; at < data.size(); at += 8) {
    std::uint64_t word = seed * 0x9E3779B97F4A7C15u + (at / 8 + 1) * 0xBF58476D1CE4E5B9u;
    word ^= word >> 29;
    std::memcpy(&data[at], &word, std::min<std::size_t>(8, data.size() - at));
  }
}

// As simulations have them: digits that look random, and little difference between neighbours.
template <class Float>
void fill_smoothly(std::vector<char>& data, const Json& json) {
  for (std::size_t i = 0; i < data.size() / sizeof(Float); ++i) {
    const bool is_nan = json.contains("nan") && json.at("nan") == i;
    const double value = json.at("smooth").get<double>() + static_cast<double>(i % 1000) / 1000.0;
    const Float kept = is_nan ? std::numeric_limits<Float>::quiet_NaN() : static_cast<Float>(value);
    std::memcpy(&data[i * sizeof(Float)], &kept, sizeof(Float));
  }
}

leat_block block_of(const Json& json, std::vector<char>& data) {
  leat_block block{};
  block.size = sizeof block;
  block.variable = json.at("variable");
  block.rank = json.value("rank", 0);
  block.block = json.value("block", 0);
  copy_list(json, "extent", block.extent);
  copy_list(json, "position", block.position);
  copy_list(json, "global", block.global);
  block.has_level = json.contains("level");
  block.level = json.value("level", 0);
  block.has_position = json.contains("position") && !block.has_level;
  data.resize(json.at("bytes").get<std::size_t>());
  fill(data, json.value("seed", 0));
  copy_list(json, "raw", reinterpret_cast<unsigned char*>(data.data()));
  if (json.contains("smooth"))
    (json.value("single", 0) ? fill_smoothly<float> : fill_smoothly<double>)(data, json);
  block.data = data.data();
  block.bytes = data.size();
  return block;
}

leat_parameter parameter_of(const std::string& name, const Json& value) {
  leat_parameter parameter{};
  parameter.size = sizeof parameter;
  parameter.name = keep(name);
  parameter.type = name == "n" ? LEAT_INT64 : name == "s" ? LEAT_CHAR : LEAT_FLOAT64;
  parameter.has_value = !value.is_null();
  parameter.text = value.is_string() ? keep(value) : "";
  if (value.is_number_integer()) parameter.integer = value;
  if (value.is_number()) parameter.real = value;
  return parameter;
}

leat_result result_of(const Json& json, std::vector<char>& data) {
  leat_result result{};
  result.size = sizeof result;
  result.name = keep(json.at("name"));
  result.unit = keep(json.value("unit", ""));
  result.type = json.at("type");
  for (const Json& name : json.at("dims")) result.dimension[result.dims++] = keep(name);
  const std::vector<std::int64_t> extent = json.at("extent");
  std::copy(extent.begin(), extent.end(), result.extent);
  data.resize(json.at("bytes").get<std::size_t>());
  fill(data, json.at("seed"));
  result.data = data.data();
  result.bytes = data.size();
  return result;
}

std::string last_error;
int log_level = LEAT_LOG_WARNING;  // from which on messages are told

void take_log(void*, int level, const char* message) {
  if (level == LEAT_LOG_ERROR) last_error = message;
  if (level >= log_level) std::cerr << message << std::endl;
}

void answer(int code) {
  std::cout << Json{{"code", code}, {"error", code ? last_error : ""}}.dump() << std::endl;
  last_error.clear();
}

int take_iteration(const leat_plugin& plugin, void* state, const Json& json) {
  std::vector<std::vector<char>> data(json.at("blocks").size());
  std::vector<leat_block> blocks;
  for (const Json& block : json.at("blocks"))
    blocks.push_back(block_of(block, data[blocks.size()]));
  leat_iteration_data iteration{};
  iteration.size = sizeof iteration;
  iteration.iteration = json.at("iteration");
  iteration.blocks = blocks.data();
  iteration.block_count = blocks.size();
  iteration.block_stride = sizeof(leat_block);
  iteration.complete = json.value("complete", 1);
  std::vector<leat_parameter> parameters;
  const Json values = json.value("parameters", Json::object());
  for (const auto& [name, value] : values.items()) parameters.push_back(parameter_of(name, value));
  iteration.parameters = parameters.data();
  iteration.parameter_count = parameters.size();
  iteration.parameter_stride = sizeof(leat_parameter);
  iteration.waiting = json.value("waiting", 0u);
  return plugin.iteration(state, &iteration);
}

int take_results(const leat_plugin& plugin, void* state, const Json& json) {
  std::vector<std::vector<char>> data(json.at("results").size());
  std::vector<leat_result> results;
  for (const Json& result : json.at("results"))
    results.push_back(result_of(result, data[results.size()]));
  leat_result_set set{};
  set.size = sizeof set;
  set.source = keep(json.at("source"));
  set.iteration = json.at("iteration");
  set.results = results.data();
  set.result_count = results.size();
  set.result_stride = sizeof(leat_result);
  return plugin.results(state, &set);
}

void limit_file_size(rlim_t bytes) {
  const rlimit limit{bytes, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
}

Json read_line() {
  std::string line;
  return std::getline(std::cin, line) ? Json::parse(line) : Json{{"call", "end"}};
}

// Progress without bytes that are written: of what the plugin makes beside its file.
std::atomic<int> signs_of_life{0};

int shared_file = -1;  // into which of those that servers write together this one may write

}  // namespace

int main(int, char** arguments) {
  signal(SIGXFSZ, SIG_IGN);
  const leat::Result<leat::server::LoadedPlugin> loaded = leat::server::load_plugin(arguments[1]);
  if (!loaded) return 2;
  const leat_plugin& plugin = *loaded->plugin();
  const Json description = read_line();
  if (description.contains("infos")) log_level = LEAT_LOG_INFO;

  std::deque<std::vector<leat_option>> options;
  std::vector<leat_variable> variables;
  for (const Json& variable : description.at("variables")) {
    options.push_back(options_of(variable.value("options", Json::object())));
    variables.push_back(variable_of(variable, options.back()));
  }
  options.push_back(options_of(description.value("options", Json::object())));
  leat_run run{};
  run.size = sizeof run;
  run.simulation = keep(description.value("simulation", "run"));
  run.session = keep(description.value("session", "session"));
  run.store = "out";
  run.xml = keep(description.value("xml", "<simulation/>"));
  run.ranks = description.value("ranks", 1);
  run.node_ranks = description.value("node_ranks", run.ranks);
  run.first_rank = description.value("first_rank", 0);
  run.succession = description.value("succession", 0);
  const auto own_ranks = description.value("own_ranks", std::vector<std::int32_t>{});
  run.own_ranks = own_ranks.empty() ? nullptr : own_ranks.data();
  run.variables = variables.data();
  run.variable_count = variables.size();
  run.variable_stride = sizeof(leat_variable);
  run.options = options.back().data();
  run.option_count = options.back().size();
  run.resumed = description.value("resumed", 0);
  std::vector<leat_mesh> meshes;
  for (const Json& mesh : description.value("meshes", Json::array()))
    meshes.push_back(mesh_of(mesh));
  run.meshes = meshes.data();
  run.mesh_count = meshes.size();
  run.mesh_stride = sizeof(leat_mesh);
  run.time_parameter = description.value("time_parameter", -1);
  run.time_unit = keep(description.value("time_unit", ""));
  run.calendar = keep(description.value("calendar", ""));
  run.description = keep(description.value("description", ""));
  shared_file = description.value("shared_file", -1);
  const char* ledger = keep(description.value("ledger", ""));
  const leat_host host{sizeof host,
                       &ledger,
                       take_log,
                       [](void* context) { return *static_cast<const char**>(context); },
                       [](void*, std::uint64_t bytes) { signs_of_life += bytes == 1; },
                       nullptr,
                       nullptr,
                       nullptr,
                       [](void*, std::int32_t) -> std::int32_t { return shared_file; },
                       nullptr};

  if (description.contains("limit")) limit_file_size(description.at("limit").get<rlim_t>());
  void* state = nullptr;
  const int opened = plugin.open(&run, &host, &state);
  answer(opened);
  if (opened != 0) return 1;
  for (Json call = read_line(); call.at("call") != "end"; call = read_line()) {
    if (call.at("call") == "iteration") answer(take_iteration(plugin, state, call));
    if (call.at("call") == "results") answer(take_results(plugin, state, call));
    if (call.at("call") == "limit") limit_file_size(call.at("bytes").get<rlim_t>());
  }
  signs_of_life = 0;
  answer(plugin.close(state));
  if (description.contains("signs_of_life"))
    std::ofstream(description.at("signs_of_life").get<std::string>()) << signs_of_life;
  return 0;
}
