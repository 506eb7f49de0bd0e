// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/store_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "lib/model/seen_fields.hpp"

namespace leat::bench {
namespace {

using Layout = StorePlan::Layout;

constexpr int kLevels = 3, kAlongEdge = 64;

struct SetDefault {
  void operator()(const auto&, const auto&, const char*& text) const { text = ""; }
  void operator()(const auto&, bool usual, std::int32_t& value) const { value = usual; }
};

}  // namespace

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

std::vector<double> some_data(std::size_t bytes) {
  std::vector<double> data(bytes / sizeof(double));
  std::uint64_t state = 88172645463325252u;
  for (double& value : data) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    value = static_cast<double>(state >> 11);
  }
  return data;
}

StoreRun::StoreRun(const leat_plugin& plugin, const std::string& folder, const StorePlan& plan)
    : plugin_(plugin), plan_(plan), data_(some_data(plan.bytes)), folder_(folder) {
  options_ = {{"folder", folder_.c_str()}, {"exists", "replace"}};
  if (!plan_.files.empty()) options_.push_back({"files", plan_.files.c_str()});
  data_[0] = plan.server + 1;
  if (!plan_.durability.empty()) options_.push_back({"durability", plan_.durability.c_str()});
  for (int i = 0; i < plan.variables; ++i) names_.push_back("v" + std::to_string(i));
  for (int i = 0; i < plan.variables; ++i) add_variable(i);
  for (int i = 0; i < plan.parameters; ++i) parameter_names_.push_back("p" + std::to_string(i));
  for (const std::string& name : parameter_names_)
    parameters_.push_back({sizeof(leat_parameter), name.c_str(), LEAT_FLOAT64, 1, 0, 0.5, ""});
  run_.size = sizeof run_;
  run_.simulation = run_.session = "bench";
  run_.store = "out";
  run_.xml = "";
  run_.node_ranks = 1;
  run_.ranks = plan.layout == Layout::part ? plan.servers : 1;
  run_.first_rank = plan.server;
  run_.variables = variables_.data();
  run_.variable_count = variables_.size();
  run_.variable_stride = sizeof(leat_variable);
  run_.options = options_.data();
  run_.option_count = options_.size();
  run_.time_parameter = -1;
  run_.time_unit = run_.calendar = run_.description = "";
  mesh_ = {sizeof mesh_, "mesh", "", "", LEAT_MESH_AMR, 3, {0, 0, 0}, {1, 1, 1}, 0, {}, -1, -1,
           -1,           0,      2,  0};
  run_.meshes = &mesh_;
  run_.mesh_count = plan.layout == Layout::amr ? 1 : 0;
  run_.mesh_stride = sizeof mesh_;
  if (plugin_.open(&run_, &host_, &state_) != 0) give_up("the store does not open");
}

std::int32_t StoreRun::turn_of(void* self, std::int32_t files) {
  const auto& plan = static_cast<StoreRun*>(self)->plan_;
  return plan.shared_file ? plan.shared_file(files) : -1;
}

void StoreRun::iteration(std::int64_t number) {
  leat_iteration_data data{};
  data.size = sizeof data;
  data.iteration = number;
  data.blocks = blocks_.data();
  data.block_count = blocks_.size();
  data.block_stride = sizeof(leat_block);
  data.complete = 1;
  data.parameters = parameters_.data();
  data.parameter_count = parameters_.size();
  data.parameter_stride = sizeof(leat_parameter);
  if (plugin_.iteration(state_, &data) != 0) give_up("an iteration was not stored");
}

void StoreRun::close() {
  if (plugin_.close(state_) != 0) give_up("the store does not close");
}

void StoreRun::add_variable(int number) {
  leat_variable variable{};
  variable.size = sizeof variable;
  variable.name = names_[static_cast<std::size_t>(number)].c_str();
  model::each_seen_field_of_Variable(SetDefault{}, variable);
  variable.type = LEAT_FLOAT64;
  variable.dims = plan_.layout == Layout::scalar ? 0 : 1;
  if (plan_.layout == Layout::amr) variable.dims = 3;
  static const char* const kNames[] = {"x", "y", "z"};
  for (std::uint32_t d = 0; d < variable.dims; ++d)
    variable.dimension[d].name = kNames[variable.dims - 1 - d];
  variable.has_global = plan_.layout == Layout::global || plan_.layout == Layout::part;
  variable.mesh = plan_.layout == Layout::amr ? 0 : -1;
  variable.centering = LEAT_ZONAL;
  variables_.push_back(variable);
  for (int i = 0; i < plan_.blocks; ++i) add_block(number, i);
}

void StoreRun::add_block(int variable, int number) {
  leat_block block{};
  block.size = sizeof block;
  block.variable = static_cast<std::uint32_t>(variable);
  block.block = static_cast<std::uint32_t>(number);
  block.extent[0] = static_cast<std::int64_t>(plan_.bytes / sizeof(double));
  block.has_position = variables_[static_cast<std::size_t>(variable)].has_global;
  const bool is_part = plan_.layout == Layout::part;
  block.rank = is_part ? plan_.server : 0;
  block.position[0] = (block.rank * plan_.blocks + number) * block.extent[0];
  block.global[0] = plan_.blocks * block.extent[0] * (is_part ? plan_.servers : 1);
  if (plan_.layout == Layout::amr) make_patch(&block);
  block.data = data_.data();
  block.bytes = plan_.bytes;
  blocks_.push_back(block);
}

void StoreRun::make_patch(leat_block* block) const {
  const auto number = static_cast<std::int64_t>(block->block), level = number % kLevels;
  const auto edge = static_cast<std::int64_t>(
      std::lround(std::cbrt(static_cast<double>(plan_.bytes / sizeof(double)))));
  std::fill_n(block->extent, 3, edge);
  block->has_level = 1;
  block->level = static_cast<std::int32_t>(level);
  std::int64_t at = number / kLevels;
  for (int d = 0; d < 3; ++d, at /= kAlongEdge) block->position[d] = at % kAlongEdge * edge;
}

void StoreRun::log(void*, int level, const char* message) {
  if (level >= LEAT_LOG_WARNING) std::fprintf(stderr, "%s\n", message);
}

}  // namespace leat::bench
