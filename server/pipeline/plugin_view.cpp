// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/plugin_view.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "lib/model/mesh_place.hpp"
#include "lib/model/seen_fields.hpp"

namespace leat::server {
namespace {

std::vector<leat_option> options_of(const std::vector<model::Option>& options) {
  std::vector<leat_option> view;
  for (const model::Option& o : options) view.push_back({o.name.c_str(), o.value.c_str()});
  return view;
}

std::int32_t index_or_none(std::optional<std::uint32_t> index) {
  return index ? static_cast<std::int32_t>(*index) : -1;
}

// 0: as the variable's says.
std::uint32_t centering_of(const model::Variable& variable, std::size_t d) {
  if (d >= variable.centerings.size() || variable.centerings[d] == variable.centering) return 0;
  return static_cast<std::uint32_t>(variable.centerings[d]);
}

// Sets a member of the view that is called like the field of the model.
struct ShowField {
  void operator()(const model::SeenField&, const auto&, const std::string& text,
                  const char*& view) const {
    view = text.c_str();
  }
  void operator()(const model::SeenField&, const auto&, bool value, std::int32_t& view) const {
    view = value;
  }
};

leat_variable variable_of(const model::Variable& variable, const model::Layout& layout,
                          const std::vector<leat_option>& options) {
  leat_variable view{};
  view.size = sizeof view;
  view.name = variable.name.c_str();
  model::each_seen_field_of_Variable(ShowField{}, variable, view);
  view.type = static_cast<std::uint32_t>(layout.type);
  view.dims = static_cast<std::uint32_t>(layout.dimensions.size());
  for (std::uint32_t d = 0; d < view.dims; ++d) {
    const model::Dimension& dimension = layout.dimensions[d];
    view.dimension[d] = {dimension.name.c_str(), dimension.ghost_low, dimension.ghost_high,
                         dimension.varying, centering_of(variable, d)};
  }
  view.has_global = layout.has_global;
  view.options = options.data();
  view.option_count = options.size();
  view.mesh = index_or_none(variable.mesh);
  view.centering = static_cast<std::uint32_t>(variable.centering);
  return view;
}

void put_place(const std::vector<double>& origin, const std::vector<double>& spacing,
               leat_mesh* view) {
  std::copy(origin.begin(), origin.end(), view->origin);
  std::copy(spacing.begin(), spacing.end(), view->spacing);
}

leat_mesh mesh_of(const model::Mesh& mesh) {
  leat_mesh view{};
  view.size = sizeof view;
  view.name = mesh.name.c_str();
  model::each_seen_field_of_Mesh(ShowField{}, mesh, view);
  view.kind = static_cast<std::uint32_t>(mesh.kind);
  view.dims = mesh.dims;
  put_place(mesh.origin, mesh.spacing, &view);
  for (const model::MeshNumber& each : mesh.given)
    (each.is_spacing ? view.spacing : view.origin)[each.axis] =
        std::numeric_limits<double>::quiet_NaN();
  view.coordinate_count = static_cast<std::uint32_t>(mesh.coordinates.size());
  std::copy(mesh.coordinates.begin(), mesh.coordinates.end(), view.coordinate);
  view.connectivity = index_or_none(mesh.connectivity);
  view.offsets = index_or_none(mesh.offsets);
  view.types = index_or_none(mesh.types);
  view.cell_type = static_cast<std::uint32_t>(mesh.cell_type);
  view.ratio = mesh.ratio;
  view.levels = mesh.levels;
  return view;
}

leat_parameter parameter_of(const model::Parameter& parameter, const ParameterValue& value) {
  leat_parameter view{};
  view.size = sizeof view;
  view.name = parameter.name.c_str();
  view.type = parameter.kind == model::Parameter::Kind::integer ? LEAT_INT64
              : parameter.kind == model::Parameter::Kind::real  ? LEAT_FLOAT64
                                                                : LEAT_CHAR;
  view.has_value = is_set(value);
  view.integer = as_integer(value);
  view.real = std::holds_alternative<double>(value) ? as_real(value) : 0;
  view.text = as_text(value).data();
  return view;
}

}  // namespace

PluginView::PluginView(const model::Model& model, const RunFacts& facts)
    : model_(model), facts_(facts) {
  for (const model::Store& store : model.stores)
    store_options_.push_back(options_of(store.options));
  for (const model::Mesh& mesh : model.meshes) meshes_.push_back(mesh_of(mesh));
  for (const model::Variable& v : model.variables) {
    variable_options_.push_back(options_of(v.options));
    variables_.push_back(variable_of(v, model.layouts[v.layout], variable_options_.back()));
  }
}

leat_run PluginView::run_for(std::uint32_t store) const {
  leat_run run{};
  run.size = sizeof run;
  run.simulation = model_.name.c_str();
  run.session = (facts_.run_session.empty() ? facts_.session : facts_.run_session).c_str();
  run.store = model_.stores[store].name.c_str();
  run.xml = model_.source_text.c_str();
  run.ranks = facts_.ranks;
  run.node_ranks = facts_.node_ranks;
  run.variables = variables_.data();
  run.variable_count = variables_.size();
  run.variable_stride = sizeof(leat_variable);
  run.options = store_options_[store].data();
  run.option_count = store_options_[store].size();
  run.resumed = facts_.drained ? LEAT_RUN_DRAINED : facts_.resumed ? LEAT_RUN_RESUMED : 0;
  run.run_number = server::run_number(facts_.run_id);
  run.in_simulation = facts_.in_simulation ? 1 : 0;
  run.succession = facts_.succession;
  run.time_parameter = model_.time ? static_cast<std::int32_t>(model_.time->parameter) : -1;
  run.time_unit = model_.time ? model_.time->unit.c_str() : "";
  run.calendar = model_.time ? model_.time->calendar.c_str() : "";
  run.description = model_.description.c_str();
  run.meshes = meshes_.data();
  run.mesh_count = meshes_.size();
  run.mesh_stride = sizeof(leat_mesh);
  return run;
}

std::vector<leat_parameter> PluginView::parameters_of(const Iteration& iteration) const {
  std::vector<leat_parameter> all;
  for (std::size_t i = 0; i < iteration.parameters.size(); ++i)
    all.push_back(parameter_of(model_.parameters[i], iteration.parameters[i]));
  return all;
}

std::vector<leat_mesh> PluginView::meshes_of(const Iteration& iteration) const {
  if (!model::any_is_placed_by_parameters(model_)) return {};
  std::vector<leat_mesh> all = meshes_;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const model::MeshPlace place = model::place_of(model_, model_.meshes[i], iteration.parameters);
    put_place(place.origin, place.spacing, &all[i]);
  }
  return all;
}

leat_block block_of(const Block& block) {
  leat_block view{};
  view.size = sizeof view;
  view.variable = block.variable;
  view.block = block.block;
  view.rank = block.rank;
  view.has_position = block.has_position;
  std::copy(block.extent.begin(), block.extent.end(), view.extent);
  std::copy(block.position.begin(), block.position.end(), view.position);
  std::copy(block.global.begin(), block.global.end(), view.global);
  view.data = block.data;
  view.bytes = block.bytes;
  view.checksum = block.checksum.value_or(0);
  view.has_checksum = block.checksum.has_value();
  view.has_level = block.level.has_value();
  view.level = block.level.value_or(0);
  return view;
}

leat_result result_of(const Product& product) {
  leat_result view{};
  view.size = sizeof view;
  view.name = product.name.c_str();
  view.unit = product.unit.c_str();
  view.type = static_cast<std::uint32_t>(product.type);
  view.dims = static_cast<std::uint32_t>(product.extents.size());
  for (std::uint32_t d = 0; d < view.dims; ++d) {
    view.dimension[d] = product.dimensions[d].c_str();
    view.extent[d] = product.extents[d];
  }
  view.data = product.data;
  view.bytes = product.bytes;
  return view;
}

}  // namespace leat::server
