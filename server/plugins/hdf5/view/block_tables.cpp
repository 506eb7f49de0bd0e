// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/block_tables.hpp"

#include "server/plugins/hdf5/conventions/stored_tables.hpp"

#include <algorithm>
#include <stdexcept>

namespace leat::hdf5 {

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

RowTable BlockTables::open_table(std::size_t part, const std::string& suffix) {
  const Part& from = view_.parts[part];
  const std::string name = table_of(from.file, variable_.name, suffix);
  if (name.empty())
    throw std::runtime_error(from.path + " has no " + variable_.name + suffix +
                             ", which its writer has made");
  view_.done.insert(name);
  return RowTable(from.file, name, !variable_.constant);
}

void BlockTables::add_blocks(std::size_t part, hsize_t row, std::vector<StoredBlock>* blocks) {
  OfPart& of = of_part_[part];
  // A part's elements lie in the order of its rows, of which the view may skip none.
  for (; ragged_ && of.next_row < row; ++of.next_row) {
    for (const std::int64_t count : of.counts.row(of.next_row))
      of.next_element += static_cast<hsize_t>(count);
  }
  const std::vector<std::int64_t> ranks = of.ranks.row(row), numbers = of.numbers.row(row),
                                  counts = of.counts.row(row);
  if (ragged_ && counts.empty()) return;
  hsize_t from = of.next_element;
  for (hsize_t slot = 0; slot < std::min(ranks.size(), numbers.size()); ++slot) {
    if (ranks[slot] < 0) continue;
    const std::int64_t count = slot < counts.size() ? counts[slot] : 0;
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
