// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/block_axes.hpp"

#include <algorithm>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"

namespace leat::hdf5 {
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
  return table()->elements().take_up(target_.file, target_.scales.name_of(there, 0),
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
