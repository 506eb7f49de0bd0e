// SPDX-License-Identifier: Apache-2.0
// Blocks whose size varies, as a contiguous ragged array: "<variable>" has the blocks of all
// iterations one after the other, by iteration, rank and block. "<variable>_count" (iteration,
// slot) says how many elements of the first dimension each has, 0 where a slot is empty, so that
// its sums are places in "<variable>"; "<variable>_rank" and "<variable>_block" say whose it is,
// -1 where a slot is empty. When another dimension than the first varies, blocks are flattened,
// counts are of single elements, and
// "<variable>_extent" (iteration, slot, dims) has their shapes.
// Source of the form: CF Conventions 1.8, section 9.3.3, "Contiguous ragged array representation".
#include <algorithm>
#include <numeric>

#include "server/plugins/hdf5/arrays/block_check.hpp"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/datasets/integers.hpp"

namespace leat::hdf5 {
namespace {

class RaggedWriter : public Writer {
 public:
  RaggedWriter(const Target& target, const leat_variable& variable, const BlockList& first)
      : axes_(target, variable), variable_(variable), flat_(varies_in_shape(variable, 1)) {
    const std::string name = variable_.name;
    const DimensionName slots{name + "_slot", 0, true};
    make_data(first);
    std::int64_t largest = 0;
    for (const leat_block* block : first) largest = std::max(largest, largest_of(*block));
    counts_ =
        axes_.make_table({"_count", "elements of the block in the slot", 0, largest}, {}, {slots});
    ranks_ = axes_.make_table(ranks_of_blocks(), {}, {slots});
    numbers_ = axes_.make_table(numbers_of_blocks(), {}, {slots});
    if (flat_)
      extents_ = axes_.make_table(extents_of_blocks(largest), {variable_.dims},
                                  {slots, {name + "_dims", variable_.dims}});
    total_ = sum_of_counts();
  }

  void write(hsize_t row, const BlockList& blocks, BlockErrors* errors) override {
    if (!axes_.has_rows()) total_ = 0;  // written again: replaced
    Tables tables;
    hsize_t at = total_;
    for (const leat_block* block : blocks) {
      try {
        append(at, *block, &tables);
      } catch (const std::exception& e) {
        errors->add(*block, e.what());
        continue;
      }
      at += static_cast<hsize_t>(tables.counts.back());
    }
    write_tables(row, tables.counts.size(), tables);
    total_ = at;
  }

  void grow_to_rows(hsize_t rows) override {
    for (Dataset* table : {&counts_, &ranks_, &numbers_}) table->grow_to(axes_.with_row(rows, {0}));
    if (flat_) extents_.grow_to(axes_.with_row(rows, {0, 0}));
  }

 private:
  struct Tables {
    std::vector<std::int64_t> counts, ranks, numbers, extents;
  };

  void make_data(const BlockList& first) {
    if (first.empty()) {
      rest_ = behind(axes_.stored_extents());
    } else if (!flat_) {
      rest_ = behind(own_extents(variable_, *first.front()));
    }
    std::vector<DimensionName> names{{axes_.name() + "_element", 0, true}};
    for (unsigned d = 1; d <= rest_.size(); ++d) names.push_back(axes_.name_of(d, rest_[d - 1]));
    data_ = axes_.make_appended(joined(0, rest_), rows_of(first), names);
  }

  // Of what the tables say of it.
  std::int64_t largest_of(const leat_block& block) const {
    const std::int64_t extent = *std::max_element(block.extent, block.extent + variable_.dims);
    return std::max(extent, static_cast<std::int64_t>(rows_of({&block})));
  }

  // Of what is in the file, row by row: it may be much.
  hsize_t sum_of_counts() const {
    const Shape& all = counts_.extents();
    hsize_t sum = 0;
    for (hsize_t row = 0; row < (axes_.has_rows() ? all[0] : 1); ++row) {
      const std::vector<std::int64_t> counts =
          read_numbers(counts_, axes_.with_row(row, {0}), axes_.with_row(1, {all.back()}));
      sum += static_cast<hsize_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
    }
    return sum;
  }

  hsize_t rows_of(const BlockList& blocks) const {
    hsize_t rows = 0;
    for (const leat_block* block : blocks) {
      const Shape own = own_extents(variable_, *block);
      rows += flat_ ? product(own) : own[0];
    }
    return rows;
  }

  void append(hsize_t at, const leat_block& block, Tables* tables) {
    const MemoryPart own = own_part(variable_, block);
    if (!flat_ && behind(own.count) != rest_) {
      throw std::runtime_error(
          "its fixed extents differ from those of the first block: make them \"?\" in the layout");
    }
    const hsize_t count = flat_ ? product(own.count) : own.count[0];
    expect_room_for(counts_, static_cast<std::int64_t>(count));
    expect_room_for(numbers_, block.block);
    for (std::size_t d = 0; flat_ && d < own.count.size(); ++d)
      expect_room_for(extents_, static_cast<std::int64_t>(own.count[d]));
    data_.grow_to(joined(at + count, rest_));
    data_.write(joined(at, zeros(rest_)), joined(count, rest_), block.data, own);
    tables->counts.push_back(static_cast<std::int64_t>(count));
    tables->ranks.push_back(block.rank);
    tables->numbers.push_back(block.block);
    tables->extents.insert(tables->extents.end(), own.count.begin(), own.count.end());
  }

  void write_tables(hsize_t row, hsize_t slots, const Tables& tables) {
    axes_.put_row(ranks_, row, {slots}, tables.ranks);
    axes_.put_row(numbers_, row, {slots}, tables.numbers);
    if (flat_) axes_.put_row(extents_, row, {slots, variable_.dims}, tables.extents);
    // Last: a block counts once all that is said of it is there.
    axes_.put_row(counts_, row, {slots}, tables.counts);
  }

  Axes axes_;
  const leat_variable& variable_;
  bool flat_;
  Shape rest_;  // extents of a block's fixed dimensions, behind the first
  hsize_t total_ =
      0;  // elements of the first dimension, of all iterations that are whole in the file
  Dataset data_, counts_, ranks_, numbers_, extents_;
};

}  // namespace

std::unique_ptr<Writer> make_ragged_writer(const Target& target, const leat_variable& variable,
                                           const BlockList& first) {
  return std::make_unique<RaggedWriter>(target, variable, first);
}

}  // namespace leat::hdf5
