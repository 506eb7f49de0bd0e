// SPDX-License-Identifier: Apache-2.0
// What a store has open in its file: all that is closed together, before the file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/plugins/hdf5/arrays/blocks.hpp"
#include "server/plugins/hdf5/arrays/row_tables.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/output/product_group.hpp"
#include "server/plugins/hdf5/output/store.hpp"
#include "server/plugins/hdf5/vtkhdf/vtkhdf.hpp"

namespace leat::hdf5 {

struct Store::Open {
  Open(hid_t file, const leat_run& run, const Host& host, const MeshShapes& shapes)
      : scales(file, run),
        rows(scales.iteration().extents()[0]),
        stored_before(numbers_in(scales.iteration())),
        time(file, run, scales),
        blocks({file, scales, time.beside()}, run),
        target{file, scales, run, time.beside(), blocks, shapes},
        parameters(target),
        vtkhdf({file, file, run}, host) {
    if (scales.rows().exists()) open_whole();
    for (std::uint64_t i = 0; i < run.variable_count; ++i) {
      const leat_variable& variable = *leat_variable_at(&run, i);
      if (is_dataset(file, variable.name)) resume(static_cast<std::uint32_t>(i), variable);
    }
  }

  void open_whole() {
    whole =
        open_mask(target, scales.take_name(scales.in_own_group("iteration_complete")),
                  {"1: all of the iteration is here; 0: a rank died, or something was not stored",
                   "incomplete complete"});
  }

  // Before anything of an iteration is made.
  void expect(const leat_iteration_data& data) {
    time.expect(data);
    if (!whole.exists()) open_whole();
  }

  // A run that has stored nothing has iterations all the same, none.
  void end() {
    vtkhdf.finish();
    if (scales.rows().exists()) return;
    scales.name_rows(scales.iteration());
    open_whole();
  }

  void list_named() {
    scales.list_named();
    blocks.list_named();
    for (auto& [path, group] : products) group.list_named();
  }

  void resume(std::uint32_t number, const leat_variable& variable) {
    resume_blocks(target, number, rows);
    writers[number] = make_writer(target, variable, {});
    if (variable.time_varying) written_masks[number] = WrittenMask(target, variable.name, rows);
  }

  DimensionScales scales;
  hsize_t rows;
  std::vector<std::int64_t> stored_before;  // by writers before this one, ascending
  TimeAxis time;
  BlockTables blocks;
  Target target;
  Dataset whole;
  ParameterTables parameters;
  VtkHdf vtkhdf;
  std::map<std::string, ProductGroup> products;              // by path
  std::map<std::uint32_t, std::unique_ptr<Writer>> writers;  // by variable
  std::map<std::uint32_t, WrittenMask> written_masks;        // of those that vary in time
  std::set<std::uint32_t> in_row;     // variables of which something is in the last row
  std::vector<std::int64_t> pending;  // numbers of the last rows that /iteration does not have yet
  std::vector<std::int8_t> pending_complete;
};

}  // namespace leat::hdf5
