// SPDX-License-Identifier: Apache-2.0
// Blocks that are parts of a global array. When its shape changes during the run the dataset has
// the largest one, and
// "<variable>_global" (iteration, dims) has the shape of each iteration.
#include <algorithm>

#include "server/plugins/hdf5/arrays/block_check.hpp"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {
namespace {

Shape global_of(const leat_block& block, unsigned dims) {
  return Shape(block.global, block.global + dims);
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
    if (axes_.has_table(extents_of_arrays(0))) make_globals(0);
  }

  void write(hsize_t row, const BlockList& blocks, BlockErrors* errors) override {
    const Shape global = global_of(*blocks.front(), variable_.dims);
    axes_.grow(data_, axes_.with_row(row + 1, global), true);
    if (globals_.exists() || global != first_global_) note_global(row, global);
    for (const leat_block* block : blocks) {
      try {
        if (global_of(*block, variable_.dims) != global)
          throw std::runtime_error("its global extents differ from those of the iteration's first");
        write_block(row, *block);
      } catch (const std::exception& e) {
        errors->add(*block, e.what());
      }
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
    globals_ = axes_.make_table(extents_of_arrays(largest), {},
                                {{axes_.own(axes_.name() + "_global_dim"), variable_.dims}});
  }

  void note_global(hsize_t row, const Shape& global) {
    const std::vector<std::int64_t> now(global.begin(), global.end());
    const std::vector<std::int64_t> before(first_global_.begin(), first_global_.end());
    const bool is_new = !globals_.exists();
    if (is_new) {
      make_globals(std::max(*std::max_element(now.begin(), now.end()),
                            *std::max_element(before.begin(), before.end())));
    }
    for (hsize_t old = 0; is_new && old < row; ++old)
      axes_.put_row(globals_, old, {before.size()}, before);
    axes_.put_row(globals_, row, {now.size()}, now);
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

}  // namespace leat::hdf5
