// SPDX-License-Identifier: Apache-2.0
// Variables with a global shape: the whole array, and of one of several servers its sub-arrays.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "server/plugins/hdf5/arrays/blocks.hpp"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"

namespace leat::hdf5 {

// Blocks that are parts of a global array. When its shape changes during the run the dataset has
// the largest one, and
// "<variable>_global" (iteration, dims) has the shape of each iteration.

namespace {

Shape global_of(const leat_block& block, unsigned dims) {
  return Shape(block.global, block.global + dims);
}

// For the view.
void note_axes(const Dataset& data, const Axes& axes, unsigned dims) {
  for (unsigned d = 0; d < dims; ++d) {
    if (const std::optional<AxisValues> axis = axes.place_name_of(d, 0).values)
      note_axis(data.id(), d, *axis);
  }
}

// Chunks of less would be too many.
constexpr std::uint64_t kSmallestPiece = 64ull * 1024;

bool lies_on_grid(const leat_variable& variable, const leat_block& block, const Shape& cell) {
  const Shape own = own_extents(variable, block);
  for (unsigned d = 0; d < variable.dims; ++d) {
    if (own[d] != cell[d] || block.position[d] % static_cast<std::int64_t>(cell[d]) != 0)
      return false;
  }
  return true;
}

// A block, when all are of one shape and fill a grid of it: then each is made of whole chunks,
// which are written once, as they are. Else the whole array.
Shape piece_of(const leat_variable& variable, const Shape& global, const BlockList& blocks) {
  if (blocks.empty()) return global;
  const leat_block& first = *blocks.front();
  const Shape cell = own_extents(variable, first);
  const std::uint64_t bytes = product(cell) * H5Tget_size(type_of(variable.type));
  if (bytes < kSmallestPiece) return global;
  const bool fit = std::all_of(blocks.begin(), blocks.end(), [&](const leat_block* block) {
    return lies_on_grid(variable, *block, cell);
  });
  return fit ? cell : global;
}

class GridWriter : public Writer {
 public:
  GridWriter(const Target& target, const leat_variable& variable, const BlockList& first)
      : axes_(target, variable),
        variable_(variable),
        first_global_(first.empty() ? axes_.stored_rest()
                                    : global_of(*first.front(), variable.dims)) {
    data_ = axes_.make(first_global_, axes_.place_names(first_global_),
                       piece_of(variable, first_global_, first));
    if (data_.is_new() && is_in_pieces(target.run)) note_axes(data_, axes_, variable.dims);
    if (axes_.has_table(extents_of_arrays(0))) make_globals(0);
  }

  void write(hsize_t row, const BlockList& blocks, BlockErrors* errors) override {
    const Shape global = global_of(*blocks.front(), variable_.dims);
    axes_.grow(data_, axes_.with_row(row + 1, global), true);
    if (globals_.exists() || global != first_global_) note_global(row, global);
    for (const leat_block* block : blocks) {
      errors->attempt(*block, [&] {
        if (global_of(*block, variable_.dims) != global)
          throw std::runtime_error("its global extents differ from those of the iteration's first");
        write_block(row, *block);
      });
    }
  }

  void grow_to_rows(hsize_t rows) override {
    data_.grow_to(axes_.with_row(rows, Shape(first_global_.size(), 0)));
    data_.grow_to_scales();
    if (globals_.exists()) globals_.grow_to(axes_.with_row(rows, {0}));
  }

 private:
  void write_block(hsize_t row, const leat_block& block) {
    const Shape start(block.position, block.position + variable_.dims);
    const MemoryPart memory = own_part(variable_, block);
    data_.write(axes_.with_row(row, start), axes_.with_row(1, memory.count), block.data, memory);
  }

  void make_globals(std::int64_t largest) {
    globals_ = axes_.make_table(extents_of_arrays(largest),
                                {axes_.own(axes_.name() + "_global_dim"), variable_.dims});
  }

  void note_global(hsize_t row, const Shape& global) {
    const std::vector<std::int64_t> now(global.begin(), global.end());
    const std::vector<std::int64_t> before(first_global_.begin(), first_global_.end());
    const bool is_new = !globals_.exists();
    if (is_new) {
      make_globals(std::max(*std::max_element(now.begin(), now.end()),
                            *std::max_element(before.begin(), before.end())));
    }
    for (hsize_t old = 0; is_new && old < row; ++old) axes_.put_row(globals_, old, before);
    axes_.put_row(globals_, row, now);
  }

  Axes axes_;
  const leat_variable& variable_;
  Shape first_global_;  // as long as it is all there was; then globals_ exists
  Dataset data_, globals_;
};

}  // namespace

std::unique_ptr<Writer> make_grid_writer(const Target& target, const leat_variable& variable,
                                         const BlockList& first) {
  return std::make_unique<GridWriter>(target, variable, first);
}

// Blocks that are parts of a global array, of which this server has some: the others are in the
// files of other servers. The dataset is (iteration, slot, dims...), a slot for each block, ghosts
// left out, so that a file has no more bytes than its server got, however the blocks lie;
// "<variable>_region" says where each belongs (SubArrayTable). The view shows the global array.

namespace {

constexpr std::uint64_t kSmallestChunk = 16ull * 1024;

// What a chunk is made from: of small blocks each has its own, and large ones have several.
Shape usual_size(const std::vector<SubArray>& sub_arrays, std::uint64_t bytes_each) {
  Shape least, most;
  for (const SubArray& sub_array : sub_arrays) {
    if (!sub_array.is_there()) continue;
    if (least.empty()) least = most = sub_array.count;
    for (std::size_t d = 0; d < least.size(); ++d) {
      least[d] = std::min(least[d], sub_array.count[d]);
      most[d] = std::max(most[d], sub_array.count[d]);
    }
  }
  return product(least) * bytes_each >= kSmallestChunk ? least : most;
}

class SubArrayWriter : public Writer {
 public:
  SubArrayWriter(const Target& target, const leat_variable& variable, const BlockList& first)
      : axes_(target, variable), variable_(variable) {
    std::vector<SubArray> sub_arrays;
    for (const leat_block* block : first) sub_arrays.push_back(sub_array_of(*block));
    Shape size = usual_size(sub_arrays, H5Tget_size(type_of(variable.type)));
    size.resize(variable.dims, 0);
    make_data(size, first.size());
    const std::size_t width = numbers_of_sub_array(variable.dims);
    table_ = axes_.make_list("_region", width, sub_arrays.size());
    records_ = table_.extents()[0];
    std::vector<std::int64_t> all(records_ * width);
    table_.read({0, 0}, {records_, width}, all.data());
    for (hsize_t i = 0; i < records_; ++i) {
      SubArray sub_array = sub_array_of_record(&all[i * width], variable.dims);
      now_[{sub_array.rank, sub_array.block}] = std::move(sub_array);
    }
  }

  void write(hsize_t row, const BlockList& blocks, BlockErrors* errors) override {
    const Shape global = sub_array_of(*blocks.front()).global;
    close_others(row, blocks);
    for (const leat_block* block : blocks) {
      errors->attempt(*block, [&] {
        SubArray sub_array = sub_array_of(*block);
        if (sub_array.global != global)
          throw std::runtime_error("its global extents differ from those of the iteration's first");
        sub_array.slot = slot_of({sub_array.rank, sub_array.block});
        if (sub_array.is_there()) write_block(row, *block, sub_array);
        note(row, std::move(sub_array));
      });
    }
  }

  void grow_to_rows(hsize_t rows) override {
    data_.grow_to(axes_.with_row(rows, Shape(variable_.dims + 1, 0)));
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // rank and block

  SubArray sub_array_of(const leat_block& block) const {
    SubArray sub_array;
    sub_array.rank = block.rank;
    sub_array.block = block.block;
    sub_array.count = own_extents(variable_, block);
    for (unsigned d = 0; d < variable_.dims; ++d) {
      sub_array.start.push_back(static_cast<hsize_t>(std::max<std::int64_t>(0, block.position[d])));
      sub_array.global.push_back(static_cast<hsize_t>(block.global[d]));
    }
    if (!sub_array.is_there()) sub_array.leave();
    return sub_array;
  }

  // `slots`: that come at first. Small ones are in a chunk together.
  void make_data(const Shape& extents, hsize_t slots) {
    std::vector<DimensionName> names{{axes_.name() + "_slot", 0, true}};
    for (unsigned d = 0; d < variable_.dims; ++d)
      names.push_back({axes_.name() + "_" + variable_.dimension[d].name, 0, true});
    const bool is_small = product(extents) * H5Tget_size(type_of(variable_.type)) < kSmallestChunk;
    data_ = axes_.make(joined(0, extents), names, joined(is_small ? slots : 1, extents));
    if (!data_.is_new()) return;
    set_attribute(data_.id(), kPatches, std::int64_t{1});
    note_axes(data_, axes_, variable_.dims);
  }

  void write_block(hsize_t row, const leat_block& block, const SubArray& sub_array) {
    const MemoryPart memory = own_part(variable_, block);
    const auto slot = static_cast<hsize_t>(sub_array.slot);
    data_.grow_to(axes_.with_row(row + 1, joined(slot + 1, sub_array.count)));
    data_.write(axes_.with_row(row, joined(slot, zeros(sub_array.count))),
                axes_.with_row(1, joined(1, sub_array.count)), block.data, memory);
  }

  // Blocks of before that are not written now: their place may be another block's, on any node.
  void close_others(hsize_t row, const BlockList& blocks) {
    if (!axes_.has_rows()) return;
    std::set<Key> here;
    for (const leat_block* block : blocks) here.insert({block->rank, block->block});
    std::vector<SubArray> gone;
    for (const auto& [key, sub_array] : now_) {
      if (sub_array.is_there() && here.count(key) == 0) gone.push_back(sub_array);
    }
    for (SubArray& sub_array : gone) {
      sub_array.leave();
      note(row, std::move(sub_array));
    }
  }

  std::int64_t slot_of(const Key& key) const {
    const auto known = now_.find(key);
    return known != now_.end() ? known->second.slot : static_cast<std::int64_t>(now_.size());
  }

  void note(hsize_t row, SubArray sub_array) {
    const Key key{sub_array.rank, sub_array.block};
    const auto before = now_.find(key);
    if (before != now_.end() && before->second.lies_like(sub_array)) return;
    sub_array.row = static_cast<std::int64_t>(axes_.has_rows() ? row : 0);
    const std::vector<std::int64_t> record = record_of(sub_array);
    table_.grow_to({records_ + 1, record.size()});
    table_.write({records_, 0}, {1, record.size()}, record.data());
    ++records_;
    now_[key] = std::move(sub_array);
  }

  Axes axes_;
  const leat_variable& variable_;
  Dataset data_, table_;
  std::map<Key, SubArray> now_;  // the last one said of each block
  hsize_t records_ = 0;
};

}  // namespace

std::unique_ptr<Writer> make_sub_array_writer(const Target& target, const leat_variable& variable,
                                              const BlockList& first) {
  return std::make_unique<SubArrayWriter>(target, variable, first);
}

}  // namespace leat::hdf5
