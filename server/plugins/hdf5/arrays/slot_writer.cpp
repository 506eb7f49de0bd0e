// SPDX-License-Identifier: Apache-2.0
// Blocks of one size, without their ghosts, that have no place in a global array. When a run of
// one rank starts with one block, each iteration is that block. Otherwise each block has a slot,
// and tables say whose it is: "<variable>_rank" and "<variable>_block", (iteration, slot), -1
// where a slot is empty. Blocks that are smaller than others fill a part of their slot, and
// "<variable>_extent" (iteration, slot, dims) says which.
#include <algorithm>

#include "server/plugins/hdf5/arrays/block_check.hpp"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/datasets/integers.hpp"

namespace leat::hdf5 {
namespace {

class SlotWriter : public Writer {
 public:
  SlotWriter(const Target& target, const leat_variable& variable, const BlockList& first)
      : axes_(target, variable), variable_(variable) {
    const Shape rest = first.empty() ? axes_.stored_rest() : own_extents(variable, *first[0]);
    single_ = first.empty() ? rest.size() == variable.dims
                            : target.run.ranks == 1 && first.size() == 1 && first[0]->block == 0;
    first_extents_ = Shape(rest.end() - variable.dims, rest.end());
    if (single_) {
      data_ = axes_.make(first_extents_, axes_.place_names(first_extents_), first_extents_);
    } else {
      make_slots(first_extents_);
    }
  }

  void write(hsize_t row, const BlockList& blocks, BlockErrors* errors) override {
    if (single_) {
      write_single(row, blocks, errors);
    } else {
      write_slots(row, blocks);
    }
  }

  void grow_to_rows(hsize_t rows) override {
    data_.grow_to(axes_.with_row(rows, Shape(first_extents_.size() + (single_ ? 0 : 1), 0)));
    if (single_) return;
    ranks_.grow_to(axes_.with_row(rows, {0}));
    numbers_.grow_to(axes_.with_row(rows, {0}));
    if (sizes_.exists()) sizes_.grow_to(axes_.with_row(rows, {0, 0}));
  }

 private:
  void expect_room_in_tables(const BlockList& blocks) const {
    for (const leat_block* block : blocks) {
      for (unsigned d = 0; d < variable_.dims; ++d) expect_room_for(sizes_, block->extent[d]);
      expect_room_for(numbers_, block->block);
    }
  }

  void write_slots(hsize_t row, const BlockList& blocks) {
    std::vector<std::int64_t> ranks, numbers, sizes;
    expect_room_in_tables(blocks);
    for (hsize_t slot = 0; slot < blocks.size(); ++slot) {
      const leat_block& block = *blocks[slot];
      const MemoryPart own = own_part(variable_, block);
      data_.grow_to(axes_.with_row(row + 1, joined(blocks.size(), own.count)));
      data_.write(axes_.with_row(row, joined(slot, zeros(own.count))),
                  axes_.with_row(1, joined(1, own.count)), block.data, own);
      ranks.push_back(block.rank);
      numbers.push_back(block.block);
      sizes.insert(sizes.end(), own.count.begin(), own.count.end());
    }
    axes_.put_row(ranks_, row, {blocks.size()}, ranks);
    axes_.put_row(numbers_, row, {blocks.size()}, numbers);
    if (sizes_.exists()) axes_.put_row(sizes_, row, {blocks.size(), variable_.dims}, sizes);
  }

  void write_single(hsize_t row, const BlockList& blocks, BlockErrors* errors) {
    for (const leat_block* block : blocks) {
      if (block->block != 0) {
        errors->add(
            *block,
            "the first iteration had one block, so the file has room for one: write all "
            "blocks in the first iteration too, or give the layout a global shape or a \"?\" "
            "dimension");
        continue;
      }
      const MemoryPart own = own_part(variable_, *block);
      data_.grow_to(axes_.with_row(row + 1, own.count));
      data_.write(axes_.with_row(row, zeros(own.count)), axes_.with_row(1, own.count), block->data,
                  own);
    }
  }

  void make_slots(const Shape& extents) {
    const DimensionName slots{axes_.name() + "_slot", 0, true};
    std::vector<DimensionName> names{slots};
    for (unsigned d = 0; d < extents.size(); ++d) names.push_back(axes_.name_of(d, extents[d]));
    data_ = axes_.make(joined(0, extents), names, joined(0, extents));
    ranks_ = axes_.make_table(ranks_of_blocks(), {}, {slots});
    numbers_ = axes_.make_table(numbers_of_blocks(), {}, {slots});
    if (extents.empty()) return;
    const auto largest =
        static_cast<std::int64_t>(*std::max_element(extents.begin(), extents.end()));
    sizes_ = axes_.make_table(extents_of_blocks(largest), {extents.size()},
                              {slots, {axes_.name() + "_dims", extents.size()}});
  }

  Axes axes_;
  const leat_variable& variable_;
  bool single_;
  Shape first_extents_;
  Dataset data_, ranks_, numbers_, sizes_;
};

}  // namespace

std::unique_ptr<Writer> make_slot_writer(const Target& target, const leat_variable& variable,
                                         const BlockList& first) {
  return std::make_unique<SlotWriter>(target, variable, first);
}

}  // namespace leat::hdf5
