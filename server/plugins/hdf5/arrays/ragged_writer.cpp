// SPDX-License-Identifier: Apache-2.0
// Blocks whose size varies, as a contiguous ragged array: "<variable>" has the blocks of all
// iterations one after the other, as its BlockTable has them. "<variable>_count" (block) says how
// many elements of the first dimension each has, -1 where the variable does not have the block, so
// that its sums are places in "<variable>"; with the same counts variables share the dimension of
// elements. When another dimension than the first varies, blocks are flattened, counts are of single
// elements, and "<variable>_extent" (block, dims) has their shapes.
// Source of the form: CF Conventions 1.8, section 9.3.3, "Contiguous ragged array representation".
#include <algorithm>

#include "server/plugins/hdf5/arrays/block_axes.hpp"
#include "server/plugins/hdf5/arrays/block_check.hpp"
#include "server/plugins/hdf5/arrays/neighbours.hpp"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {
namespace {

class RaggedWriter : public Writer {
 public:
  RaggedWriter(const Target& target, const leat_variable& variable, const BlockList& first)
      : axes_(target, variable), variable_(variable), flat_(varies_in_shape(variable, 1)) {
    if (first.empty()) {
      take_up();
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
    Neighbours to(&data_);
    hsize_t at = total_;
    for (const auto& [record, block] : axes_.by_record(blocks, errors)) {
      try {
        const hsize_t place = record - table.first();
        const Shape own = append(&to, at, *block);
        counts[place] = static_cast<std::int64_t>(rows_in(own));
        at += rows_in(own);
        if (flat_) std::copy(own.begin(), own.end(), extents.data() + place * variable_.dims);
      } catch (const std::exception& e) {
        errors->add(*block, e.what());
      }
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
  void take_up() {
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
  Shape append(Neighbours* to, hsize_t at, const leat_block& block) {
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
