// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/stored_form.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>

#include "server/plugins/hdf5/arrays/blocks.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"

namespace leat::hdf5 {
namespace {

// Of what another version of the server has it may be shorter, or longer.
template <class Struct>
Struct copy_of(const Struct& given) {
  Struct copy{};
  std::memcpy(&copy, &given, std::min<std::uint64_t>(sizeof copy, given.size));
  copy.size = std::min<std::uint64_t>(sizeof copy, given.size);
  return copy;
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('/') + 1); }

// Elements that are there: never more than the extents say.
bool fills_its_extents(const leat_variable& variable, const leat_block& block,
                       std::uint64_t element) {
  std::uint64_t bytes = element;
  for (unsigned d = 0; d < variable.dims; ++d) {
    if (block.extent[d] < 0 ||
        __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(block.extent[d]), &bytes))
      return false;
  }
  return bytes == block.bytes;
}

}  // namespace

StoredForm::StoredForm(const leat_run& run, bool has_errors) : given_(run), run_(copy_of(run)) {
  for (std::uint32_t i = 0; i < run.variable_count; ++i)
    variables_.push_back(copy_of(*leat_variable_at(&run, i)));
  for (std::uint32_t i = 0; i < run.variable_count; ++i) {
    const leat_variable& each = variables_[i];
    const bool is_changed = stored_as(each).is_any();
    if (is_changed || (has_errors && each.time_varying && is_lossy(compression_of(run, each))))
      change(i);
  }
  for (auto& [number, changed] : changed_)
    if (has_errors) add_errors_of(number);
  for (std::uint64_t i = 0; i < leat_run_mesh_count(&run); ++i)
    meshes_.push_back(copy_of(*leat_mesh_at(&run, i)));
  if (!meshes_.empty()) {
    run_.meshes = meshes_.data();
    run_.mesh_stride = sizeof(leat_mesh);
  }
  run_.variables = variables_.data();
  run_.variable_count = variables_.size();
  run_.variable_stride = sizeof(leat_variable);
}

void StoredForm::change(std::uint32_t number) {
  leat_variable& variable = variables_[number];
  Changed& changed = changed_[number];
  changed.as = stored_as(variable);
  changed.from = variable.type;
  if (changed.as.is_any()) variable.type = static_cast<std::uint32_t>(changed.as.type);
}

std::string StoredForm::free_name(std::string wished) const {
  const auto is_taken = [&](const leat_variable& each) { return each.name == wished; };
  while (std::any_of(variables_.begin(), variables_.end(), is_taken)) wished += "_";
  return wished;
}

void StoredForm::add_errors_of(std::uint32_t number) {
  leat_variable& of = variables_[number];
  texts_.push_back(free_name(std::string(of.name) + "_error"));
  const char* const name = texts_.back().c_str();
  options_.emplace_back(of.options, of.options + of.option_count);
  options_.back().push_back({kErrorIn, name});
  of.options = options_.back().data();
  of.option_count = options_.back().size();
  texts_.push_back("largest difference between what is stored of " + last_part(of.name) +
                   " and what was given, in this iteration");
  leat_variable errors{};
  errors.size = sizeof errors;
  errors.name = name;
  errors.unit = of.unit;
  errors.description = texts_.back().c_str();
  errors.type = LEAT_FLOAT64;
  errors.time_varying = of.time_varying;
  errors.mesh = -1;
  options_.emplace_back(1, leat_option{kErrorOf, of.name});
  errors.options = options_.back().data();
  errors.option_count = 1;
  errors.standard_name = errors.cell_methods = errors.comment = errors.definition = errors.vector =
      "";
  changed_.at(number).error_at = static_cast<std::int64_t>(variables_.size());
  variables_.push_back(errors);
}

void StoredForm::place_meshes(const leat_iteration_data& data) {
  for (std::size_t i = 0; i < meshes_.size(); ++i) {
    if (has_place(meshes_[i])) continue;
    const leat_mesh& now = *leat_iteration_mesh(&given_, &data, i);
    std::copy(now.origin, now.origin + std::size(now.origin), meshes_[i].origin);
    std::copy(now.spacing, now.spacing + std::size(now.spacing), meshes_[i].spacing);
  }
}

const leat_iteration_data& StoredForm::of(const leat_iteration_data& data) {
  place_meshes(data);
  if (changed_.empty()) return data;
  data_ = copy_of(data);
  blocks_.clear();
  errors_.clear();
  rooms_used_ = 0;
  std::map<std::int64_t, StoringLoss> losses;
  for (const leat_block& block : Blocks(data)) {
    blocks_.push_back(copy_of(block));
    const auto changed = changed_.find(block.variable);
    if (changed == changed_.end()) continue;
    StoringLoss loss;
    if (changed->second.as.is_any()) loss = store(changed->second, &blocks_.back());
    if (changed->second.error_at >= 0) losses[changed->second.error_at].add(loss);
  }
  for (const auto& [variable, loss] : losses) add_error(variable, loss.error);
  data_.blocks = blocks_.data();
  data_.block_count = blocks_.size();
  data_.block_stride = sizeof(leat_block);
  return data_;
}

StoringLoss StoredForm::store(const Changed& changed, leat_block* block) {
  const leat_variable& variable = variables_[block->variable];
  const std::uint64_t element = scalar_bytes(changed.as.type);
  const std::uint64_t given = scalar_bytes(static_cast<ScalarType>(changed.from));
  StoringLoss loss;
  if (!fills_its_extents(variable, *block, given)) return loss;
  if (rooms_used_ == rooms_.size()) rooms_.emplace_back();
  std::vector<char>& room = rooms_[rooms_used_++];
  room.resize(block->bytes / given * element);
  std::int64_t low[LEAT_PLUGIN_MAX_DIMS] = {}, high[LEAT_PLUGIN_MAX_DIMS] = {};
  for (unsigned d = 0; d < variable.dims; ++d) {
    low[d] = variable.dimension[d].ghost_low;
    high[d] = variable.dimension[d].ghost_high;
  }
  each_own_row(variable.dims, block->extent, low, high,
               [&](std::int64_t first, std::int64_t count) {
                 loss.add(changed.as.store(static_cast<ScalarType>(changed.from), block->data,
                                           first, count, room.data()));
               });
  block->data = room.data();
  block->bytes = room.size();
  block->has_checksum = 0;
  return loss;
}

void StoredForm::add_error(std::int64_t variable, double error) {
  errors_.push_back(error);
  leat_block block{};
  block.size = sizeof block;
  block.variable = static_cast<std::uint32_t>(variable);
  block.rank = std::max(0, leat_run_first_rank(&given_));
  block.data = &errors_.back();
  block.bytes = sizeof(double);
  blocks_.push_back(block);
}

void add_to_error(const leat_block& errors, double more) {
  *static_cast<double*>(const_cast<void*>(errors.data)) += more;
}

}  // namespace leat::hdf5
