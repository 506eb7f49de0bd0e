// SPDX-License-Identifier: Apache-2.0
// Variables without a global shape: blocks of one size, and blocks whose size varies.
#include <algorithm>

#include "server/plugins/hdf5/arrays/blocks.hpp"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/conventions/block_table.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

// Blocks of one size, without their ghosts, that have no place in a global array: "<variable>"
// (block, dims...), one behind the other as its BlockTable says. Blocks that are smaller than others
// fill a part of their place, and "<variable>_extent" (block, dims), which is there when there are
// any, says which; "<variable>_stored" (block), likewise, where not all blocks of the table are.
// When a run of one rank starts with one block, each iteration is that block, (iteration, dims...),
// till there are others: then what is there becomes the first blocks, one of each iteration.

namespace {

class BlocksWriter : public Writer {
 public:
  BlocksWriter(const Target& target, const leat_variable& variable, const BlockList& first)
      : axes_(target, variable), variable_(variable), table_(axes_.block_table()) {
    const Shape rest = first.empty() ? axes_.stored_rest() : largest_of(first);
    extents_ = Shape(rest.end() - variable.dims, rest.end());
    if (!table_) {
      data_ = axes_.make(extents_, axes_.place_names(extents_), extents_);
      return;
    }
    data_ = axes_.make_blocks(extents_, first.size());
    if (axes_.has_table(extents_of_blocks(0))) make_sizes(0);
    if (axes_.has_mask()) make_stored();
  }

  void write(hsize_t row, const BlockList& blocks, BlockErrors* errors) override {
    if (!table_ && axes_.block_table()) become_blocks();
    if (table_) return write_blocks(blocks, errors);
    for (const leat_block* block : blocks) {
      const MemoryPart own = own_part(variable_, *block);
      axes_.grow(data_, axes_.with_row(row + 1, own.count), true);
      data_.write(axes_.with_row(row, zeros(own.count)), axes_.with_row(1, own.count), block->data,
                  own);
    }
  }

  void grow_to_rows(hsize_t rows) override {
    data_.grow_to(table_ ? joined(table_->size(), zeros(extents_))
                         : axes_.with_row(rows, zeros(extents_)));
    data_.grow_to_scales();
    if (!table_) return;
    if (sizes_.exists()) sizes_.grow_to({table_->size(), 0});
    if (stored_.exists()) stored_.grow_to({table_->size()});
  }

 private:
  void write_blocks(const BlockList& blocks, BlockErrors* errors) {
    std::vector<std::int8_t> stored = stored_before();
    std::vector<std::int64_t> sizes = sizes_before(stored);
    RowBuffer to(&data_);
    data_.grow_to(joined(table_->size(), zeros(extents_)));
    for (const auto& [record, block] : axes_.by_record(blocks, errors)) {
      const std::size_t at = record - table_->first();
      errors->attempt(*block, [&, block = block, record = record] {
        put(&to, record, *block, sizes.data() + at * extents_.size());
        stored[at] = 1;
      });
    }
    to.flush();
    note_sizes(sizes);
    note_stored(stored);
  }

  // Places have room for the largest: chunks are made for them.
  Shape largest_of(const BlockList& blocks) const {
    Shape largest(variable_.dims, 0);
    for (const leat_block* block : blocks) {
      const Shape own = own_extents(variable_, *block);
      for (std::size_t d = 0; d < largest.size(); ++d) largest[d] = std::max(largest[d], own[d]);
    }
    return largest;
  }

  // Of the blocks of this row; of what does not vary in time some may have been written in others.
  std::vector<std::int8_t> stored_before() const {
    std::vector<std::int8_t> stored(table_->size() - table_->first(), 0);
    if (table_->has_rows()) return stored;
    const Shape before{std::min<hsize_t>(stored.size(), data_.extents()[0])};
    std::fill_n(stored.begin(), before[0], std::int8_t{1});
    if (stored_.exists()) stored_.read({0}, before, stored.data());
    return stored;
  }

  std::vector<std::int64_t> sizes_before(const std::vector<std::int8_t>& stored) const {
    std::vector<std::int64_t> sizes(stored.size() * extents_.size(), -1);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (stored[i / extents_.size()] != 0)
        sizes[i] = static_cast<std::int64_t>(extents_[i % extents_.size()]);
    }
    if (table_->has_rows() || !sizes_.exists()) return sizes;
    const hsize_t before = std::min<hsize_t>(stored.size(), sizes_.extents()[0]);
    const std::vector<std::int64_t> known = read_numbers(sizes_, {0, 0}, {before, extents_.size()});
    std::copy(known.begin(), known.end(), sizes.begin());
    return sizes;
  }

  void put(RowBuffer* to, hsize_t record, const leat_block& block, std::int64_t* sizes) {
    const MemoryPart own = own_part(variable_, block);
    if (sizes_.exists()) {
      for (const hsize_t extent : own.count)
        expect_room_for(sizes_, static_cast<std::int64_t>(extent));
    }
    const Shape grown = joined(record + 1, own.count);
    if (grows(own.count)) {
      to->flush();
      axes_.grow(data_, grown, false);
    }
    to->add(joined(record, zeros(own.count)), joined(1, own.count), block.data, own);
    std::copy(own.count.begin(), own.count.end(), sizes);
  }

  bool grows(const Shape& count) const {
    for (std::size_t d = 0; d < count.size(); ++d) {
      if (count[d] > data_.extents()[d + 1]) return true;
    }
    return false;
  }

  // Of the blocks of this row, -1 where there is none.
  void note_sizes(const std::vector<std::int64_t>& sizes) {
    if (extents_.empty() || sizes.empty()) return;
    const auto usual = [&](std::size_t i) {
      return sizes[i] < 0 || static_cast<hsize_t>(sizes[i]) == extents_[i % extents_.size()];
    };
    bool all_usual = true;
    for (std::size_t i = 0; i < sizes.size() && all_usual; ++i) all_usual = usual(i);
    if (all_usual && !sizes_.exists()) return;
    if (!sizes_.exists()) make_sizes(*std::max_element(sizes.begin(), sizes.end()));
    sizes_.grow_to({table_->size(), 0});
    write_numbers(sizes_, {table_->first(), 0}, {sizes.size() / extents_.size(), extents_.size()},
                  sizes);
  }

  void make_sizes(std::int64_t largest) {
    for (const hsize_t extent : extents_)
      largest = std::max(largest, static_cast<std::int64_t>(extent));
    sizes_ = axes_.make_block_table(extents_of_blocks(largest), {variable_.dims},
                                    {{axes_.name() + "_dims", variable_.dims}});
    if (!sizes_.is_new()) return;
    std::vector<std::int64_t> before;
    for (hsize_t i = 0; i < table_->first(); ++i)
      before.insert(before.end(), extents_.begin(), extents_.end());
    sizes_.grow_to({table_->first(), 0});
    write_numbers(sizes_, {0, 0}, {table_->first(), extents_.size()}, before);
  }

  void note_stored(const std::vector<std::int8_t>& stored) {
    const bool all = std::count(stored.begin(), stored.end(), 0) == 0;
    if (all && !stored_.exists()) return;
    if (!stored_.exists()) {
      make_stored();
      const std::vector<std::int8_t> before(table_->first(), 1);
      stored_.grow_to({before.size()});
      stored_.write({0}, {before.size()}, before.data());
    }
    stored_.grow_to({table_->size()});
    stored_.write({table_->first()}, {stored.size()}, stored.data());
  }

  void make_stored() { stored_ = axes_.make_stored_mask(); }

  void become_blocks() {
    table_ = axes_.block_table();
    axes_.take_blocks(&data_);
  }

  BlockAxes axes_;
  const leat_variable& variable_;
  BlockTable* table_;  // none while there is a single block in each iteration
  Shape extents_;      // of the largest of the first blocks
  Dataset data_, sizes_, stored_;
};

}  // namespace

std::unique_ptr<Writer> make_blocks_writer(const Target& target, const leat_variable& variable,
                                           const BlockList& first) {
  return std::make_unique<BlocksWriter>(target, variable, first);
}

// Blocks whose size varies, as a contiguous ragged array: "<variable>" has the blocks of all
// iterations one after the other, as its BlockTable has them. "<variable>_count" (block) says how
// many elements of the first dimension each has, -1 where the variable does not have the block, so
// that its sums are places in "<variable>"; with the same counts variables share the dimension of
// elements. When another dimension than the first varies, blocks are flattened, counts are of single
// elements, and "<variable>_extent" (block, dims) has their shapes.
// Source of the form: CF Conventions 1.8, section 9.3.3, "Contiguous ragged array representation".

namespace {

class RaggedWriter : public Writer {
 public:
  RaggedWriter(const Target& target, const leat_variable& variable, const BlockList& first)
      : axes_(target, variable), variable_(variable), flat_(varies_in_shape(variable, 1)) {
    if (first.empty()) {
      resume();
      return;
    }
    elements_ = &axes_.elements_for(expected_of(first));
    make_data(first);
    make_tables(first);
  }

  void write(hsize_t, const BlockList& blocks, BlockErrors* errors) override {
    const BlockTable& table = *axes_.block_table();
    if (!axes_.has_rows()) total_ = 0;  // written again: replaced
    const ElementCounts expected = expected_of(blocks);
    share_elements(expected);
    ElementCounts counts(table.size() - table.first(), -1);
    std::vector<std::int64_t> extents(counts.size() * (flat_ ? variable_.dims : 0), -1);
    RowBuffer to(&data_);
    hsize_t at = total_;
    for (const auto& [record, block] : axes_.by_record(blocks, errors)) {
      const hsize_t place = record - table.first();
      errors->attempt(*block, [&, block = block] {
        const Shape own = append(&to, at, *block);
        counts[place] = static_cast<std::int64_t>(rows_in(own));
        at += rows_in(own);
        if (flat_) std::copy(own.begin(), own.end(), extents.data() + place * variable_.dims);
      });
    }
    to.flush();
    if (counts != expected) share_elements(counts);
    write_tables(counts, extents);
    total_ = at;
  }

  void grow_to_rows(hsize_t) override {
    counts_.grow_to({axes_.block_table()->size()});
    if (flat_) extents_.grow_to({axes_.block_table()->size(), 0});
  }

 private:
  void resume() {
    make_tables({});
    const ElementCounts counts = read_numbers(counts_, {0}, counts_.extents());
    if (axes_.has_rows()) total_ = sum_of(counts);
    elements_ = &axes_.elements_in_file(total_);
    make_data({});
    if (!axes_.has_rows()) share_elements(counts);
  }

  void make_tables(const BlockList& first) {
    std::int64_t largest = 0;
    for (const leat_block* block : first) largest = std::max(largest, largest_of(*block));
    counts_ = axes_.make_block_table(counts_of_blocks(largest), {}, {});
    if (flat_)
      extents_ = axes_.make_block_table(extents_of_blocks(largest), {variable_.dims},
                                        {{axes_.name() + "_dims", variable_.dims}});
  }

  // What each block of this row is to have.
  ElementCounts expected_of(const BlockList& blocks) const {
    const BlockTable& table = *axes_.block_table();
    ElementCounts counts(table.size() - table.first(), -1);
    for (const leat_block* block : blocks) {
      if (const auto record = table.record_of(entry_of(variable_, *block)))
        counts[*record - table.first()] =
            static_cast<std::int64_t>(rows_in(own_extents(variable_, *block)));
    }
    return counts;
  }

  // As long as all others along the dimension have these too.
  void share_elements(const ElementCounts& counts) {
    if (!elements_->keeps(axes_.block_table()->first(), total_, counts))
      elements_ = &axes_.own_elements(elements_, total_, counts, &data_);
  }

  void make_data(const BlockList& first) {
    if (first.empty()) {
      rest_ = behind(axes_.stored_extents());
    } else if (!flat_) {
      rest_ = behind(own_extents(variable_, *first.front()));
    }
    std::vector<DimensionName> names(1);
    names[0].scale = &elements_->scale();
    for (unsigned d = 1; d <= rest_.size(); ++d) names.push_back(axes_.name_of(d, rest_[d - 1]));
    data_ = axes_.make_appended(joined(0, rest_), rows_of(first), names);
  }

  // Of what the tables say of it.
  std::int64_t largest_of(const leat_block& block) const {
    const std::int64_t extent = *std::max_element(block.extent, block.extent + variable_.dims);
    return std::max(extent, static_cast<std::int64_t>(rows_of({&block})));
  }

  // Elements of the first dimension, or all.
  hsize_t rows_in(const Shape& own) const { return flat_ ? product(own) : own[0]; }

  hsize_t rows_of(const BlockList& blocks) const {
    hsize_t rows = 0;
    for (const leat_block* block : blocks) rows += rows_in(own_extents(variable_, *block));
    return rows;
  }

  // Returns its extents.
  Shape append(RowBuffer* to, hsize_t at, const leat_block& block) {
    MemoryPart own = own_part(variable_, block);
    if (!flat_ && behind(own.count) != rest_) {
      throw std::runtime_error(
          "its fixed extents differ from those of the first block: make them \"?\" in the layout");
    }
    const hsize_t count = rows_in(own.count);
    expect_room_for(counts_, static_cast<std::int64_t>(count));
    for (std::size_t d = 0; flat_ && d < own.count.size(); ++d)
      expect_room_for(extents_, static_cast<std::int64_t>(own.count[d]));
    data_.grow_to(joined(at + count, rest_));
    to->add(joined(at, zeros(rest_)), joined(count, rest_), block.data, own);
    return own.count;
  }

  void write_tables(const std::vector<std::int64_t>& counts,
                    const std::vector<std::int64_t>& extents) {
    const hsize_t first = axes_.block_table()->first();
    if (flat_) {
      extents_.grow_to({axes_.block_table()->size(), 0});
      write_numbers(extents_, {first, 0}, {counts.size(), variable_.dims}, extents);
    }
    // Last: a block counts once all that is said of it is there.
    counts_.grow_to({axes_.block_table()->size()});
    write_numbers(counts_, {first}, {counts.size()}, counts);
  }

  BlockAxes axes_;
  const leat_variable& variable_;
  bool flat_;
  Shape rest_;  // extents of a block's fixed dimensions, behind the first
  // Elements of the first dimension, of all iterations that are whole in the file.
  hsize_t total_ = 0;
  ElementDimension* elements_;
  Dataset data_, counts_, extents_;
};

}  // namespace

std::unique_ptr<Writer> make_ragged_writer(const Target& target, const leat_variable& variable,
                                           const BlockList& first) {
  return std::make_unique<RaggedWriter>(target, variable, first);
}

}  // namespace leat::hdf5
