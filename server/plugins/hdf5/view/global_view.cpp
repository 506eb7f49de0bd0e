// SPDX-License-Identifier: Apache-2.0
// Variables with a global shape: one array out of the sub-arrays of all parts.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/mesh_axes.hpp"
#include "server/plugins/hdf5/conventions/stored_tables.hpp"
#include "server/plugins/hdf5/conventions/table_attributes.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/view/sub_arrays.hpp"
#include "server/plugins/hdf5/view/view.hpp"

namespace leat::hdf5 {
namespace {

struct SubArraysOfPart {
  std::size_t part;
  std::vector<SubArrayRows> sub_arrays;
};

std::vector<SubArraysOfPart> all_sub_arrays(View& view, const ViewedVariable& variable,
                                            std::size_t dims) {
  std::vector<SubArraysOfPart> all;
  for (std::size_t i = 0; i < view.parts.size(); ++i) {
    if (!variable.in_part[i].is_open()) continue;
    const Part& part = view.parts[i];
    const std::string table = table_of(part.file, variable.name, "_region");
    if (table.empty())
      throw std::runtime_error(part.path + " does not say where " + variable.name + " belongs");
    view.done.insert(table);
    const hsize_t rows =
        std::min<hsize_t>(part.iterations.size(), extents_of(variable.in_part[i])[0]);
    all.push_back({i, sub_arrays_of(part.file, table, dims, variable.constant, rows)});
  }
  return all;
}

// When no block ever moves, rows in which a part has not written are fill value there, and need no
// look: the place is nobody else's.
bool something_moves(const std::vector<SubArraysOfPart>& all) {
  for (const SubArraysOfPart& of_part : all) {
    std::set<std::pair<std::int64_t, std::int64_t>> blocks;
    for (const SubArrayRows& rows : of_part.sub_arrays) {
      if (!blocks.insert({rows.sub_array.rank, rows.sub_array.block}).second) return true;
    }
  }
  return false;
}

Box box_of(const SubArrayRows& rows, std::size_t part, const RowRun& run) {
  const SubArray& sub_array = rows.sub_array;
  return {part,
          sub_array.rank,
          sub_array.block,
          sub_array.slot,
          joined(run.from, zeros(sub_array.count)),
          joined(run.to, sub_array.start),
          joined(run.count, sub_array.count),
          run.step};
}

std::vector<Box> boxes_of(const View& view, const ViewedVariable& variable,
                          const std::vector<SubArraysOfPart>& all, bool as_written) {
  std::vector<Box> boxes;
  for (const SubArraysOfPart& of_part : all) {
    std::vector<std::uint8_t> written;
    if (as_written) written = written_rows(view, variable, of_part.part);
    for (const SubArrayRows& rows : of_part.sub_arrays) {
      if (!rows.sub_array.is_there()) continue;
      const std::vector<RowRun> runs =
          variable.constant ? std::vector<RowRun>{{0, 0, 1, 1}}
                            : view.rows.runs(of_part.part, rows.from, rows.upto, written);
      for (const RowRun& run : runs) boxes.push_back(box_of(rows, of_part.part, run));
    }
  }
  return boxes;
}

// Rows that do not follow each other are one mapping that repeats.
Mapping mapping_of(const Box& box, bool constant) {
  Mapping mapping;
  mapping.part = box.part;
  const std::size_t skip = constant ? 1 : 0;
  mapping.to = behind(box.to, skip);
  mapping.to_count = behind(box.count, skip);
  mapping.from = joined(static_cast<hsize_t>(box.slot), behind(box.from));
  mapping.from_count = joined(1, behind(box.count));
  if (constant) return mapping;
  mapping.from = joined(box.from[0], mapping.from);
  mapping.from_count = joined(box.count[0], mapping.from_count);
  if (box.row_step == 1) return mapping;
  mapping.times = box.count[0];
  mapping.to_step = box.row_step;
  mapping.from_count[0] = mapping.to_count[0] = 1;
  return mapping;
}

// The global shape in each row of the view, {} where nothing is said of it.
std::vector<Shape> global_shapes(const View& view, const ViewedVariable& variable,
                                 const std::vector<SubArraysOfPart>& all) {
  std::vector<Shape> shapes(variable.constant ? 1 : view.rows.size());
  for (const SubArraysOfPart& of_part : all) {
    const std::vector<std::uint8_t> written = written_rows(view, variable, of_part.part);
    for (const SubArrayRows& rows : of_part.sub_arrays) {
      if (variable.constant) {
        shapes[0] = rows.sub_array.global;
        continue;
      }
      for (const RowRun& run : view.rows.runs(of_part.part, rows.from, rows.upto, written)) {
        for (hsize_t i = 0; i < run.count; ++i)
          shapes[run.to + i * run.step] = rows.sub_array.global;
      }
    }
  }
  return shapes;
}

Shape first_of(const std::vector<Shape>& shapes, std::size_t dims) {
  for (const Shape& shape : shapes) {
    if (!shape.empty()) return shape;
  }
  return Shape(dims, 0);
}

// As the writer of one file has it: a table from the first change on, with what was before.
void add_shapes(View& view, const ViewedVariable& variable, const std::vector<Shape>& shapes,
                const Shape& first) {
  const auto changed = std::find_if(shapes.begin(), shapes.end(), [&](const Shape& shape) {
    return !shape.empty() && shape != first;
  });
  if (changed == shapes.end() || variable.constant) return;
  std::vector<std::int64_t> values;
  for (auto shape = shapes.begin(); shape != shapes.end(); ++shape) {
    if (shape->empty() && shape > changed) {
      values.insert(values.end(), first.size(), -1);
    } else {
      const Shape& said = shape < changed ? first : *shape;
      values.insert(values.end(), said.begin(), said.end());
    }
  }
  const TableKind kind = extents_of_arrays(*std::max_element(values.begin(), values.end()));
  const std::string name =
      view.scales.take_name(view.scales.in_own_group(variable.name + kind.suffix));
  const Id type = number_type(view.file, name, kind.largest);
  const DatasetPlan plan{{shapes.size(), first.size()},
                         {true, true},
                         {std::max<hsize_t>(1, shapes.size()), first.size()},
                         {},
                         number_bytes(type, kind.nothing)};
  Dataset table(view.file, name, type, plan);
  write_numbers(table, {0, 0}, plan.extents, values);
  describe_table(table, variable.name, kind, coordinates_of_rows(view.time, name));
  name_dimensions(view, name, true,
                  {{view.scales.in_own_group(variable.name + "_global_dim"), first.size()}});
}

}  // namespace

void add_global(View& view, const ViewedVariable& variable) {
  const std::size_t before = variable.constant ? 1 : 2;  // the slot, the iteration
  const std::size_t dims = extents_of(variable.like()).size() - before;
  const std::vector<SubArraysOfPart> all = all_sub_arrays(view, variable, dims);
  const std::vector<Shape> shapes = global_shapes(view, variable, all);
  const Shape first = first_of(shapes, dims);
  Shape extents = first;
  for (const Shape& shape : shapes) {
    for (std::size_t d = 0; d < shape.size(); ++d) extents[d] = std::max(extents[d], shape[d]);
  }
  bool as_written = something_moves(all);
  std::vector<Box> boxes = boxes_of(view, variable, all, as_written);
  if (remove_overlaps(&boxes) && !as_written) {
    boxes = boxes_of(view, variable, all, true);
    remove_overlaps(&boxes);
  }
  VirtualPlan plan =
      plan_for(view, variable.name, variable.name,
               variable.constant ? extents : joined(view.rows.size(), extents), variable.unlike);
  for (const Box& box : boxes) plan.mappings.push_back(mapping_of(box, variable.constant));
  create_virtual(view.file, plan, variable.like());
  Dataset made(view.file, variable.name);
  remove_attribute(made.id(), "leat_patches");
  remove_noted_axes(made.id());
  const std::vector<std::string> own = own_dimensions(variable, dims);
  if (variable.constant && dims == 1 && own[0] == variable.name)
    return view.scales.take_coordinates(made);
  std::vector<DimensionName> names;
  for (unsigned d = 0; d < dims; ++d) {
    names.push_back({own[d], first[d]});
    names.back().values = noted_axis(variable.like(), d);
    names.back().grows = !names.back().values && extents[d] != first[d];
  }
  name_dimensions(view, variable.name, !variable.constant, names, own);
  add_shapes(view, variable, shapes, first);
}

}  // namespace leat::hdf5
