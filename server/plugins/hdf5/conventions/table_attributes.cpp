// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/table_attributes.hpp"

#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

TableKind counts_of_blocks(std::int64_t largest) {
  return {"_count", "elements of the block", -1, largest};
}

TableKind extents_of_blocks(std::int64_t largest) {
  return {"_extent", "extents of the block", -1, largest};
}

TableKind extents_of_arrays(std::int64_t largest) {
  return {"_global", "extents of the global array in the iteration", -1, largest, true};
}

MaskKind written_mask_of(const std::string& variable) {
  return {"1: " + variable + " was written in this iteration", "not_written written"};
}

MaskKind stored_blocks_of(const std::string& variable) {
  return {"1: the block has values of " + variable, "not_stored stored"};
}

void describe_table(const Dataset& table, const std::string& variable, const TableKind& kind,
                    const std::string& coordinates) {
  set_attribute(table.id(), "long_name", variable + ": " + kind.about);
  if (kind.nothing < 0)
    set_fill_attribute(table.id(), table.type(), number_bytes(table.type(), kind.nothing));
  set_coordinates(table, coordinates);
}

void describe_mask(const Dataset& flags, const MaskKind& kind, const std::string& coordinates) {
  set_attribute(flags.id(), "long_name", kind.about);
  set_attribute(flags.id(), "flag_values", std::vector<std::int8_t>{0, 1});
  set_attribute(flags.id(), "flag_meanings", kind.meanings);
  set_coordinates(flags, coordinates);
}

Dataset open_mask(const Target& target, const std::string& name, const MaskKind& kind,
                  hsize_t length) {
  DatasetPlan plan = growing_list(length);
  plan.fill = {0};
  Dataset flags(target.file, name, H5T_NATIVE_INT8, plan);
  target.scales.attach_rows(flags);
  if (flags.is_new()) describe_mask(flags, kind, coordinates_of_rows(target.time, name));
  return flags;
}

}  // namespace leat::hdf5
