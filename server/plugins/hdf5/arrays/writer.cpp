// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/writer.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/arrays/blocks.hpp"
#include "server/plugins/hdf5/arrays/mesh_shapes.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"

namespace leat::hdf5 {
namespace {

// What a reader cannot see in the dataset's shape: docs/design/plugin-abi.md lists it.
void describe_layout(const Dataset& dataset, const leat_variable& variable, std::uint32_t number) {
  const char* layout = variable.has_global         ? "global"
                       : varies_in_shape(variable) ? "varying"
                                                   : "blocks";
  set_attribute(dataset.id(), "leat_layout", std::string(layout));
  set_attribute(dataset.id(), "leat_number", std::int64_t{number});
  if (!variable.time_varying) set_attribute(dataset.id(), "leat_constant", std::int64_t{1});
  std::vector<std::int64_t> ghosts;
  for (unsigned d = 0; d < variable.dims; ++d)
    ghosts.insert(ghosts.end(),
                  {variable.dimension[d].ghost_low, variable.dimension[d].ghost_high});
  if (std::any_of(ghosts.begin(), ghosts.end(), [](std::int64_t layers) { return layers > 0; }))
    set_attribute(dataset.id(), "leat_ghosts", ghosts);
}

void describe(const Dataset& dataset, const leat_run& run, const leat_variable& variable,
              hid_t type, const std::vector<std::uint8_t>& fill) {
  describe_variable(dataset.id(), variable);
  describe_storing(dataset.id(), variable);
  const std::string axis = axis_of(run, variable);
  if (!axis.empty()) set_attribute(dataset.id(), "axis", axis);
  if (is_coordinate_variable(variable)) return;  // CF: coordinates have no missing values
  set_fill_attribute(dataset.id(), type, fill);
}

}  // namespace

std::unique_ptr<Writer> make_writer(const Target& target, const leat_variable& variable,
                                    const BlockList& first) {
  if (variable.has_global && is_one_of_several_nodes(target.run))
    return make_sub_array_writer(target, variable, first);
  if (variable.has_global) return make_grid_writer(target, variable, first);
  if (varies_in_shape(variable)) return make_ragged_writer(target, variable, first);
  return make_blocks_writer(target, variable, first);
}

Axes::Axes(const Target& target, const leat_variable& variable)
    : target_(target),
      variable_(variable),
      number_(static_cast<std::uint32_t>(leat_variable_number(&target.run, &variable))) {}

Shape Axes::with_row(hsize_t row, const Shape& rest) const {
  return has_rows() ? joined(row, rest) : rest;
}

std::uint64_t Axes::bytes_of(const Shape& extents) const {
  return std::accumulate(extents.begin(), extents.end(),
                         std::uint64_t{H5Tget_size(type_of(variable_.type))}, std::multiplies<>());
}

std::uint64_t Axes::bundle() const { return bundle_for(target_.run.variable_count); }

Dataset Axes::make_from(DatasetPlan plan, Front front,
                        const std::vector<DimensionName>& names) const {
  const Id type = type_of(variable_.type);
  // NCO takes every dimension that may grow for one of records.
  const bool is_axis =
      is_coordinate_variable(variable_) && plan.extents.size() == 1 && plan.extents[0] > 0;
  plan.grows.assign(plan.extents.size(), !is_axis);
  plan.fill = fill_value(variable_.type);
  Dataset dataset(target_.file, variable_.name, type, plan);
  if (dataset.is_new()) {
    describe(dataset, target_.run, variable_, type, plan.fill);
    describe_layout(dataset, variable_, number_);
    if (!has_rows()) note_first_row(dataset.id(), target_.scales.iteration().extents()[0]);
    if (table()) set_attribute(dataset.id(), kBlockTable, table()->name());
    set_coordinates(dataset, coordinates_behind(front));
  }
  const std::vector<std::string> of_scales = name_scales(dataset, front, names);
  if (dataset.is_new() && names.size() >= variable_.dims) label(dataset, of_scales);
  return dataset;
}

std::string Axes::coordinates_behind(Front front) const {
  if (front == Front::blocks) return coordinates_of_blocks(table()->coordinates(), variable_.name);
  return coordinates_of(target_, variable_, front == Front::iterations);
}

// Returns what the scales are called.
std::vector<std::string> Axes::name_scales(Dataset& dataset, Front front,
                                           const std::vector<DimensionName>& names) const {
  std::vector<std::string> of_scales;
  if (front == Front::iterations) {
    target_.scales.attach_rows(dataset);
    of_scales.push_back(target_.scales.rows().name());
  } else if (front == Front::blocks) {
    dataset.attach_records(table()->scale(), table()->size());
    of_scales.push_back(table()->name());
  }
  for (const DimensionName& wish : names)
    of_scales.push_back(target_.scales.name(dataset, of_scales.size(), wish).name());
  return of_scales;
}

void Axes::label(Dataset& dataset, const std::vector<std::string>& of_scales) const {
  std::vector<std::string> names = of_scales;
  for (unsigned d = 0; d < variable_.dims; ++d)
    names[names.size() - variable_.dims + d] = variable_.dimension[d].name;
  if (names != of_scales) set_labels(dataset, names);
}

Dataset Axes::make(const Shape& rest, const std::vector<DimensionName>& names,
                   const Shape& piece) const {
  DatasetPlan plan;
  plan.extents = with_row(0, rest);
  plan.chunk = chunk_of_iterations(piece, bytes_of({}), bundle());
  const Compression compression = compression_of(target_.run, variable_);
  const Shape compressed = chunk_of_compressed(piece, bytes_of({}));
  const std::uint64_t least = has_rows() ? kSmallestCompressed : bytes_of({}) + 1;
  if (compression && bytes_of(compressed) >= least) {
    plan.compression = compression;
    plan.chunk = compressed;
  }
  if (!has_rows()) plan.chunk.erase(plan.chunk.begin());
  if (!is_coordinate_variable(variable_) || names.size() != 1)
    return make_from(std::move(plan), rows_in_front(), names);
  Dataset coordinates = make_from(std::move(plan), Front::nothing, {});
  target_.scales.take_coordinates(coordinates);
  return coordinates;
}

Dataset Axes::make_table(const TableKind& kind, const DimensionName& of_numbers) const {
  const std::string table_name = target_.scales.take_name(wished_name(kind));
  const Id type = number_type(target_.file, table_name, kind.largest);
  const auto ranks = static_cast<hsize_t>(std::max(1, target_.run.node_ranks));
  const std::uint64_t bytes = H5Tget_size(type) * ranks;
  DatasetPlan plan;
  plan.extents = with_row(0, {0});
  plan.grows.assign(plan.extents.size(), true);
  plan.chunk = with_row(std::max<hsize_t>(1, bundle() / bytes), {ranks});
  plan.fill = number_bytes(type, kind.nothing);
  Dataset table(target_.file, table_name, type, plan);
  name_scales(table, rows_in_front(), {of_numbers});
  if (table.is_new())
    describe_table(table, name(), kind,
                   has_rows() ? coordinates_of_rows(target_.time, table_name) : "");
  return table;
}

void Axes::put_row(Dataset& table, hsize_t row, const std::vector<std::int64_t>& numbers) const {
  const Shape count{numbers.size()};
  table.grow_to(with_row(row + 1, count));
  write_numbers(table, with_row(row, zeros(count)), with_row(1, count), numbers);
}

Dataset Axes::make_list(const std::string& suffix, hsize_t width, hsize_t at_once) const {
  const hsize_t most = std::max<hsize_t>(1, bundle() / (sizeof(std::int64_t) * width));
  const hsize_t rows = std::clamp<hsize_t>(at_once, 1, most);
  const DatasetPlan plan{{0, width}, {true, false}, {rows, width}, {}, {}};
  const std::string title = own(name() + suffix);
  Dataset list(target_.file, target_.scales.take_name(title), H5T_NATIVE_INT64, plan);
  name_scales(list, Front::nothing,
              {{title + "_record", 0, true}, {"leat" + suffix + "_number", width}});
  return list;
}

std::string Axes::wished_name(const TableKind& kind) const {
  const std::string wished = name() + kind.suffix;
  return kind.is_own ? own(wished) : wished;
}

std::string Axes::own(const std::string& name) const { return target_.scales.in_own_group(name); }

bool Axes::has_table(const TableKind& kind) const { return target_.scales.has(wished_name(kind)); }

Shape Axes::stored_extents() const {
  Shape all = extents_in(target_.file, name());
  if (!all.empty() || variable_.dims + (has_rows() ? 1 : 0) == 0) return all;
  throw std::runtime_error("the dataset " + name() + " that is there has no dimensions");
}

Shape Axes::stored_rest() const {
  const Shape all = stored_extents();
  if (all.size() < variable_.dims + (has_rows() ? 1 : 0))
    throw std::runtime_error("the dataset " + name() + " that is there has too few dimensions");
  return Shape(all.begin() + (has_rows() ? 1 : 0), all.end());
}

DimensionName Axes::name_of(unsigned dimension, hsize_t length) const {
  return {variable_.dimension[dimension].name, length};
}

DimensionName Axes::place_name_of(unsigned dimension, hsize_t length) const {
  DimensionName name = name_of(dimension, length);
  name.values = target_.shapes.axis(variable_, dimension);
  // As long as the array is by now: tools that go by the scale would see a part of it.
  name.grows = !name.values && variable_.dimension[dimension].varying != 0;
  return name;
}

void Axes::grow(Dataset& dataset, const Shape& extents, bool has_places) const {
  dataset.grow_to(extents);
  const std::size_t in_front = extents.size() - variable_.dims;
  for (unsigned own = 0; own < variable_.dims; ++own) {
    const hsize_t length = dataset.extents()[in_front + own];
    target_.scales.rename_outgrown(dataset, in_front + own,
                                   has_places ? place_name_of(own, length) : name_of(own, length));
  }
}

std::vector<DimensionName> Axes::place_names(const Shape& extents) const {
  std::vector<DimensionName> names;
  for (unsigned d = 0; d < extents.size(); ++d) {
    names.push_back(place_name_of(d, extents[d]));
    if (!names.back().values && !names.back().grows) names.back().values = between(d, extents[d]);
  }
  return names;
}

// Coordinates are written before what lies on them.
std::optional<AxisValues> Axes::between(unsigned dimension, hsize_t cells) const {
  const leat_variable* const of = rectilinear_coordinate(target_.run, variable_, dimension);
  if (!of || !is_dataset(target_.file, of->name)) return {};
  const Dataset nodes(target_.file, of->name);
  Shape count = nodes.extents();
  if (count.empty() || count.back() != cells + 1) return {};
  std::fill(count.begin(), count.end() - 1,
            1);  // of the first block, where each rank has written them
  std::vector<double> values(count.back());
  read_part(nodes.id(), H5T_NATIVE_DOUBLE, zeros(count), count, values.data(),
            std::string("cannot read ") + of->name);
  return between_nodes(target_.run, variable_, dimension, std::move(values), cells);
}

void BlockErrors::add(const leat_block& block, const std::string& why) {
  if (count_++ > 0) return;
  first_ = "block " + std::to_string(block.block) + " of rank " + std::to_string(block.rank) +
           ": " + why;
}

void BlockErrors::raise() const {
  if (count_ == 0) return;
  throw std::runtime_error((count_ == 1 ? "one block" : std::to_string(count_) + " blocks") +
                           " of " + variable_ + " not stored; the first is " + first_);
}

std::vector<SoundBlocks> sound_of(const leat_run& run, const std::vector<BlockList>& by_variable) {
  std::vector<SoundBlocks> all;
  for (const BlockList& blocks : by_variable) {
    const std::uint32_t number = blocks.front()->variable;
    const leat_variable& variable = *leat_variable_at(&run, number);
    all.push_back({number, {}, BlockErrors(variable.name)});
    for (const leat_block* block : blocks) {
      all.back().errors.attempt(*block, [&] {
        check_block(variable, *block, amr_mesh_of(run, variable));
        all.back().list.push_back(block);
      });
    }
  }
  return all;
}

Dataset BlockAxes::make_blocks(const Shape& rest, hsize_t at_once) const {
  DatasetPlan plan;
  plan.extents = joined(0, rest);
  plan.compression = compression_of(target_.run, variable_);
  const std::uint64_t bytes = bytes_of(rest);
  if (bytes * at_once < kSmallestCompressed) plan.compression = {};
  plan.chunk = part_of_record(rest, bytes_of({}), bool{plan.compression});
  if (product(behind(plan.chunk)) >= product(rest))
    plan.chunk[0] = plan.compression ? records_in_compressed(bytes, at_once)
                                     : records_in_chunk(bytes, at_once, has_rows());
  std::vector<DimensionName> names;
  for (unsigned d = 0; d < rest.size(); ++d) names.push_back(name_of(d, rest[d]));
  return make_from(std::move(plan), Front::blocks, names);
}

void BlockAxes::take_blocks(Dataset* dataset) const {
  set_attribute(dataset->id(), kBlockTable, table()->name());
  set_coordinates(*dataset, coordinates_behind(Front::blocks));
  dataset->change_scale(0, target_.scales.rows(), table()->scale());
}

std::vector<std::pair<hsize_t, const leat_block*>> BlockAxes::by_record(const BlockList& blocks,
                                                                        BlockErrors* errors) const {
  std::vector<std::pair<hsize_t, const leat_block*>> all;
  for (const leat_block* block : blocks) {
    if (const auto record = table()->record_of(entry_of(variable_, *block)))
      all.emplace_back(*record, block);
    else
      errors->add(*block, "the largest number that the table of blocks has room for is 2147483647");
  }
  std::sort(all.begin(), all.end());
  return all;
}

Dataset BlockAxes::make_block_table(const TableKind& kind, const Shape& rest,
                                    const std::vector<DimensionName>& names) const {
  const std::string table_name = target_.scales.take_name(name() + kind.suffix);
  const Id type = number_type(target_.file, table_name, kind.largest);
  DatasetPlan plan;
  plan.extents = joined(0, rest);
  plan.grows.assign(plan.extents.size(), true);
  plan.chunk = plan.extents;
  const hsize_t at_once = table()->size() - table()->first();
  plan.chunk[0] = records_in_chunk(H5Tget_size(type) * product(rest), at_once, has_rows());
  plan.fill = number_bytes(type, kind.nothing);
  Dataset table(target_.file, table_name, type, plan);
  name_scales(table, Front::blocks, names);
  if (table.is_new()) describe_table(table, name(), kind, "");
  return table;
}

Dataset BlockAxes::make_stored_mask() const {
  DatasetPlan plan = growing_list();
  plan.chunk = {records_in_chunk(1, table()->size() - table()->first(), has_rows())};
  plan.fill = {0};
  const std::string mask_name = target_.scales.take_name(name() + kStoredSuffix);
  Dataset mask(target_.file, mask_name, H5T_NATIVE_INT8, plan);
  name_scales(mask, Front::blocks, {});
  if (mask.is_new()) describe_mask(mask, stored_blocks_of(name()), "");
  return mask;
}

// Cells of blocks that vary in more than one dimension are flattened: they are called after the
// blocks.
WantedElements BlockAxes::wanted_elements(const ElementCounts& counts) const {
  const bool is_flat = varies_in_shape(variable_, 1);
  const std::string kind = is_flat ? table()->name() + "_element" : variable_.dimension[0].name;
  return {kind, name() + "_element", table()->first(), counts};
}

ElementDimension& BlockAxes::elements_for(const ElementCounts& counts) const {
  return table()->elements().find_or_make(target_.file, target_.scales, wanted_elements(counts));
}

ElementDimension& BlockAxes::elements_in_file(hsize_t total) const {
  const Dataset there(target_.file, name());
  return table()->elements().resume(target_.file, target_.scales.name_of(there, 0),
                                    wanted_elements({}).kind, total);
}

ElementDimension& BlockAxes::own_elements(ElementDimension* before, hsize_t total,
                                          const ElementCounts& counts, Dataset* dataset) const {
  ElementDimension& own =
      table()->elements().make(target_.file, target_.scales, wanted_elements(counts), total);
  before->leave();
  dataset->change_scale(0, before->scale(), own.scale());
  if (!varies_in_shape(variable_, 1)) set_labels(*dataset, {variable_.dimension[0].name});
  return own;
}

Dataset BlockAxes::make_appended(const Shape& extents, hsize_t rows_at_once,
                                 const std::vector<DimensionName>& names) const {
  DatasetPlan plan;
  plan.extents = extents;
  plan.chunk = joined(1, behind(extents));
  const std::uint64_t bytes = bytes_of(behind(extents));
  plan.compression = compression_of(target_.run, variable_);
  const hsize_t compressed = records_in_compressed(bytes, rows_at_once);
  if (bytes * compressed < kSmallestCompressed) plan.compression = {};
  plan.chunk[0] = plan.compression ? compressed : records_in_chunk(bytes, rows_at_once, has_rows());
  return make_from(std::move(plan), Front::nothing, names);
}

}  // namespace leat::hdf5
