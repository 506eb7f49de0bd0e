// SPDX-License-Identifier: Apache-2.0
// Variables with a global shape: one array out of the sub-arrays of all parts.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/view/view.hpp"

namespace leat::hdf5 {
namespace {

// Boxes of a global array, each of which lies in some part: the rows are the first dimension, of
// length 1 for what does not vary in time.

struct Box {
  std::size_t part = 0;
  std::int64_t rank = 0, block = 0, slot = 0;
  Shape from;            ///< in the slot: row of the part, then the place in the sub-array
  Shape to, count;       ///< in the global array: row of the view, ...
  hsize_t row_step = 1;  ///< from one row of the view to the next
};

/// A sub-array for the rows [from, upto) of its part.
struct SubArrayRows {
  SubArray sub_array;
  hsize_t from = 0, upto = 0;
};

// Rows of a box in the view: [first, last].
hsize_t last_row(const Box& box) { return box.to[0] + (box.count[0] - 1) * box.row_step; }

bool overlap(const Box& a, const Box& b) {
  if (last_row(a) < b.to[0] || last_row(b) < a.to[0]) return false;
  for (std::size_t d = 1; d < a.to.size(); ++d) {
    if (a.to[d] + a.count[d] <= b.to[d] || b.to[d] + b.count[d] <= a.to[d]) return false;
  }
  return true;
}

// What of [low, low + count) of dimension d is left; `shift`: how far it begins behind the box.
Box cut(Box box, std::size_t d, hsize_t shift, hsize_t count) {
  box.from[d] += shift;
  box.to[d] += shift;
  box.count[d] = count;
  return box;
}

// `box` without what `over` covers; rows of both follow each other.
void subtract(Box box, const Box& over, std::vector<Box>* left) {
  if (!overlap(box, over)) return left->push_back(std::move(box));
  for (std::size_t d = 0; d < box.to.size(); ++d) {
    const hsize_t begin = std::max(box.to[d], over.to[d]);
    const hsize_t end = std::min(box.to[d] + box.count[d], over.to[d] + over.count[d]);
    const hsize_t box_end = box.to[d] + box.count[d];
    if (begin > box.to[d]) left->push_back(cut(box, d, 0, begin - box.to[d]));
    if (end < box_end) left->push_back(cut(box, d, end - box.to[d], box_end - end));
    box = cut(box, d, begin - box.to[d], end - begin);
  }
}

std::size_t best_dimension(const std::vector<Box>& boxes) {
  std::size_t best = 0, most = 0;
  for (std::size_t d = 0; d < boxes.front().to.size(); ++d) {
    std::set<hsize_t> starts;
    for (const Box& box : boxes) starts.insert(box.to[d]);
    if (starts.size() > most) best = d, most = starts.size();
  }
  return best;
}

hsize_t end_in(const Box& box, std::size_t d) {
  return d == 0 ? last_row(box) + 1 : box.to[d] + box.count[d];
}

// Pairs of boxes that overlap: for each box those that go before it.
std::map<std::size_t, std::vector<std::size_t>> overlaps(const std::vector<Box>& boxes) {
  std::map<std::size_t, std::vector<std::size_t>> over;
  if (boxes.empty()) return over;
  const std::size_t d = best_dimension(boxes);
  std::vector<std::size_t> order(boxes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return boxes[a].to[d] < boxes[b].to[d]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Box& a = boxes[order[i]];
    for (std::size_t j = i + 1; j < order.size() && boxes[order[j]].to[d] < end_in(a, d); ++j) {
      const Box& b = boxes[order[j]];
      if (!overlap(a, b)) continue;
      const bool b_wins = std::pair(a.rank, a.block) < std::pair(b.rank, b.block);
      over[order[b_wins ? i : j]].push_back(order[b_wins ? j : i]);
    }
  }
  return over;
}

// Boxes whose rows do not follow each other, row by row.
std::vector<Box> with_rows_in_line(const std::vector<Box>& boxes) {
  std::vector<Box> all;
  for (const Box& box : boxes) {
    const hsize_t pieces = box.row_step == 1 ? 1 : box.count[0];
    for (hsize_t i = 0; i < pieces; ++i) {
      all.push_back(box);
      if (pieces == 1) continue;
      all.back().from[0] += i;
      all.back().to[0] += i * box.row_step;
      all.back().count[0] = all.back().row_step = 1;
    }
  }
  return all;
}

// Where boxes overlap, only that of the highest rank and block is left, as if they had been
// written in this order. Returns whether there were any.
bool remove_overlaps(std::vector<Box>* boxes) {
  if (overlaps(*boxes).empty()) return false;
  const std::vector<Box> all = with_rows_in_line(*boxes);
  const auto over = overlaps(all);
  boxes->clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<Box> left{all[i]};
    if (const auto found = over.find(i); found != over.end()) {
      for (const std::size_t winner : found->second) {
        std::vector<Box> next;
        for (Box& box : left) subtract(std::move(box), all[winner], &next);
        left = std::move(next);
      }
    }
    boxes->insert(boxes->end(), left.begin(), left.end());
  }
  return true;
}

// The table "<variable>_region" of a part, rows resolved; `rows`: how many the part has.
std::vector<SubArrayRows> sub_arrays_of(hid_t file, const std::string& table, std::size_t dims,
                                        bool constant, hsize_t rows) {
  Shape extents;
  const std::vector<std::int64_t> all = integers_of(file, table, &extents);
  const std::size_t width = numbers_of_sub_array(dims);
  if (extents.size() != 2 || extents[1] != width)
    throw std::runtime_error("the table " + table + " is none of a part");
  if (constant) rows = 1;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<SubArrayRows>> by_block;
  for (std::size_t i = 0; i < extents[0]; ++i) {
    const SubArray sub_array = sub_array_of_record(&all[i * width], dims);
    const auto from = static_cast<hsize_t>(sub_array.row);
    std::vector<SubArrayRows>& said = by_block[{sub_array.rank, sub_array.block}];
    // A server that has died may have said something of rows that were then written anew.
    while (!said.empty() && said.back().from >= from) said.pop_back();
    if (!said.empty()) said.back().upto = std::min(said.back().upto, from);
    if (from < rows) said.push_back({sub_array, from, rows});
  }
  std::vector<SubArrayRows> sub_arrays;
  for (auto& [block, said] : by_block)
    sub_arrays.insert(sub_arrays.end(), said.begin(), said.end());
  return sub_arrays;
}

struct SubArraysOfPart {
  std::size_t part;
  std::vector<SubArrayRows> sub_arrays;
};

// Of the only server, which has the whole array: of one shape in all rows, or as a table says.
std::vector<SubArrayRows> whole_arrays_of(View& view, const ViewedVariable& variable,
                                          std::size_t part, std::size_t dims, hsize_t rows) {
  const hid_t file = view.parts[part].file;
  const Shape extents = extents_of(variable.in_part[part]);
  const auto like = [&](const Shape& shape) {
    SubArray whole;
    whole.start = zeros(shape);
    whole.count = whole.global = shape;
    return whole;
  };
  const std::string table = table_of(file, variable.name, "_global");
  if (!table.empty()) view.done.insert(table);
  if (variable.constant) return {{like(extents), 0, 1}};
  if (table.empty()) return {{like(behind(extents)), 0, rows}};
  std::vector<SubArrayRows> all;
  const std::vector<std::int64_t> said = integers_of(file, table);
  for (hsize_t row = 0; row < rows && (row + 1) * dims <= said.size(); ++row) {
    const auto begin = said.begin() + static_cast<std::ptrdiff_t>(row * dims);
    if (std::any_of(begin, begin + static_cast<std::ptrdiff_t>(dims),
                    [](std::int64_t length) { return length < 0; }))
      continue;
    const Shape shape(begin, begin + static_cast<std::ptrdiff_t>(dims));
    const bool goes_on =
        !all.empty() && all.back().upto == row && all.back().sub_array.global == shape;
    if (goes_on)
      ++all.back().upto;
    else
      all.push_back({like(shape), row, row + 1});
  }
  return all;
}

std::vector<SubArraysOfPart> all_sub_arrays(View& view, const ViewedVariable& variable,
                                            std::size_t dims) {
  std::vector<SubArraysOfPart> all;
  for (std::size_t i = 0; i < view.parts.size(); ++i) {
    if (!variable.in_part[i].is_open()) continue;
    const Part& part = view.parts[i];
    const hsize_t rows = std::min<hsize_t>(
        part.iterations.size(), variable.constant ? 1 : extents_of(variable.in_part[i])[0]);
    if (!has_slots(variable.in_part[i])) {
      all.push_back({i, whole_arrays_of(view, variable, i, dims, rows)});
      continue;
    }
    const std::string table = table_of(part.file, variable.name, "_region");
    if (table.empty())
      throw std::runtime_error(part.path + " does not say where " + variable.name + " belongs");
    view.done.insert(table);
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
Mapping mapping_of(const Box& box, bool constant, bool has_slot) {
  Mapping mapping;
  mapping.part = box.part;
  const std::size_t skip = constant ? 1 : 0;
  mapping.to = behind(box.to, skip);
  mapping.to_count = behind(box.count, skip);
  mapping.from = behind(box.from);
  mapping.from_count = behind(box.count);
  if (has_slot) {
    mapping.from = joined(static_cast<hsize_t>(box.slot), mapping.from);
    mapping.from_count = joined(1, mapping.from_count);
  }
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

// Of one dimension, NaN where nobody has written.
std::vector<double> values_in_line(const ViewedVariable& variable, const VirtualPlan& plan) {
  std::vector<double> values(plan.extents[0], std::numeric_limits<double>::quiet_NaN());
  for (const Mapping& each : plan.mappings) {
    const hsize_t begin = each.to[0], count = each.to_count[0];
    if (begin > values.size() || count > values.size() - begin) continue;
    read_part(variable.in_part[each.part], H5T_NATIVE_DOUBLE, each.from, each.from_count,
              values.data() + begin, "cannot read " + variable.name);
  }
  return values;
}

constexpr hsize_t kMostNodes = 1 << 24;  // kept in memory

std::optional<AxisValues> axis_between_nodes(const View& view, const ViewedVariable& variable,
                                             unsigned d, hsize_t cells) {
  for (std::uint64_t i = 0; view.run && i < view.run->variable_count; ++i) {
    const leat_variable& described = *leat_variable_at(view.run, i);
    if (variable.name != described.name || d >= described.dims) continue;
    const leat_variable* const of = rectilinear_coordinate(*view.run, described, d);
    const auto known = of ? view.nodes.find(of->name) : view.nodes.end();
    if (known == view.nodes.end()) return {};
    return between_nodes(*view.run, described, d, known->second, cells);
  }
  return {};
}

}  // namespace

void add_global(View& view, const ViewedVariable& variable) {
  // One number, which cannot be mapped.
  if (extents_of(variable.like()).empty())
    return copy_whole(view.parts[variable.first].file, variable.name, view.file, variable.name);
  const std::size_t before = (variable.constant ? 0 : 1) + (has_slots(variable.like()) ? 1 : 0);
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
  for (const Box& box : boxes)
    plan.mappings.push_back(
        mapping_of(box, variable.constant, has_slots(variable.in_part[box.part])));
  create_virtual(view.file, plan, variable.like());
  if (variable.constant && dims == 1 && extents[0] <= kMostNodes)
    view.nodes[variable.name] = values_in_line(variable, plan);
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
    if (!names.back().values && extents[d] == first[d])
      names.back().values = axis_between_nodes(view, variable, d, first[d]);
    names.back().grows = !names.back().values && extents[d] != first[d];
  }
  name_dimensions(view, variable.name, !variable.constant, names, own);
  add_shapes(view, variable, shapes, first);
}

}  // namespace leat::hdf5
