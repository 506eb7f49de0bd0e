// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/block_tables.hpp"

#include "server/plugins/hdf5/conventions/stored_tables.hpp"

#include <algorithm>
#include <stdexcept>

namespace leat::hdf5 {
namespace {

constexpr hsize_t kReadAhead = 1 << 16;  // numbers

}  // namespace

BlockTables::BlockTables(View& view, const ViewedVariable& variable, bool ragged)
    : view_(view), variable_(variable), ragged_(ragged), of_part_(view.parts.size()) {
  for (std::size_t part = 0; part < of_part_.size(); ++part) {
    if (!variable.in_part[part].is_open()) continue;
    of_part_[part].exists = true;
    of_part_[part].ranks = open_table(part, "_rank");
    of_part_[part].numbers = open_table(part, "_block");
    if (ragged) of_part_[part].counts = open_table(part, "_count");
  }
}

BlockTables::Table BlockTables::open_table(std::size_t part, const std::string& suffix) {
  const Part& from = view_.parts[part];
  const std::string name = table_of(from.file, variable_.name, suffix);
  if (name.empty())
    throw std::runtime_error(from.path + " has no " + variable_.name + suffix +
                             ", which its writer has made");
  view_.done.insert(name);
  Table table;
  table.dataset = Id(H5Dopen2(from.file, name.c_str(), H5P_DEFAULT), "cannot open " + name);
  table.extents = extents_of(table.dataset);
  if (variable_.constant) table.extents.insert(table.extents.begin(), 1);
  return table;
}

const std::int64_t* BlockTables::row_of(Table* table, hsize_t row) const {
  const hsize_t slots = table->extents[1];
  if (row < table->first || row >= table->first + table->count) {
    table->first = row;
    table->count = std::min(table->extents[0] - row,
                            std::max<hsize_t>(1, kReadAhead / std::max<hsize_t>(1, slots)));
    table->values.resize(table->count * slots + 1);
    const std::string what = "cannot read a table of " + variable_.name;
    const Id space(H5Dget_space(table->dataset), what);
    Shape start{row, 0}, count{table->count, slots};
    if (variable_.constant) start = {0}, count = {slots};
    const Id memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), what);
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
          what);
    check(
        H5Dread(table->dataset, H5T_NATIVE_INT64, memory, space, H5P_DEFAULT, table->values.data()),
        what);
  }
  return &table->values[(row - table->first) * slots];
}

void BlockTables::add_blocks(std::size_t part, hsize_t row, std::vector<StoredBlock>* blocks) {
  OfPart& of = of_part_[part];
  const hsize_t rows = std::min({of.ranks.extents[0], of.numbers.extents[0],
                                 ragged_ ? of.counts.extents[0] : of.ranks.extents[0]});
  if (row >= rows) return;
  const hsize_t slots = std::min(of.ranks.extents[1], of.numbers.extents[1]);
  // A part's elements lie in the order of its rows, of which the view may skip none.
  for (; ragged_ && of.next_row < row; ++of.next_row) {
    const std::int64_t* counts = row_of(&of.counts, of.next_row);
    for (hsize_t slot = 0; slot < of.counts.extents[1]; ++slot)
      of.next_element += static_cast<hsize_t>(counts[slot]);
  }
  const std::int64_t* ranks = row_of(&of.ranks, row);
  const std::int64_t* numbers = row_of(&of.numbers, row);
  const std::int64_t* counts = ragged_ ? row_of(&of.counts, row) : nullptr;
  hsize_t from = of.next_element;
  for (hsize_t slot = 0; slot < slots; ++slot) {
    if (ranks[slot] < 0) continue;
    const std::int64_t count = counts && slot < of.counts.extents[1] ? counts[slot] : 0;
    blocks->push_back({part, ranks[slot], numbers[slot], count, row, slot, from});
    from += static_cast<hsize_t>(count);
  }
}

std::vector<StoredBlock> BlockTables::blocks_in(hsize_t row) {
  std::vector<StoredBlock> blocks;
  for (std::size_t part = 0; part < of_part_.size(); ++part) {
    if (!of_part_[part].exists) continue;
    const std::int64_t in_part = variable_.constant ? 0 : view_.rows.in_part(part, row);
    if (in_part >= 0) add_blocks(part, static_cast<hsize_t>(in_part), &blocks);
  }
  std::stable_sort(blocks.begin(), blocks.end(), [](const StoredBlock& a, const StoredBlock& b) {
    return std::pair(a.rank, a.block) < std::pair(b.rank, b.block);
  });
  return blocks;
}

}  // namespace leat::hdf5
