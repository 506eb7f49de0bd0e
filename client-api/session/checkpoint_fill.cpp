// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/checkpoint_fill.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "client-api/session/declared.hpp"
#include "lib/base/scalar.hpp"

namespace leat::client {
namespace {

using checkpoint::Block;
using checkpoint::kPiece;
using checkpoint::Variable;
using Numbers = std::array<std::int64_t, kMaxDims>;

// Cells from `begin` up to `end`, among all of the array in which blocks have their places.
struct Region {
  std::uint32_t dims = 0;
  Numbers begin{}, end{};

  std::int64_t cells() const {
    std::int64_t product = 1;
    for (std::uint32_t d = 0; d < dims; ++d)
      product *= std::max<std::int64_t>(0, end[d] - begin[d]);
    return product;
  }
  Region common(const Region& other) const {
    Region both{dims, {}, {}};
    for (std::uint32_t d = 0; d < dims; ++d) {
      both.begin[d] = std::max(begin[d], other.begin[d]);
      both.end[d] = std::min(end[d], other.end[d]);
    }
    return both;
  }
};

// One dimension of what is copied: how often, and how far apart it is there and here.
struct Loop {
  std::int64_t count, from, to;
};

// Copies a region out of one block.
class BlockCopy {
 public:
  BlockCopy(PieceReader& reader, const SourcePart& part, const Block& block, std::size_t bytes)
      : reader_(reader), part_(part), block_(block), bytes_(static_cast<std::int64_t>(bytes)) {}

  /// `origin`: of the block's first cell, ghosts included; `to`: the place of the cell `to_origin`.
  Result<void> copy(const Region& region, const Numbers& origin, char* to, const Numbers& to_origin,
                    const Numbers& strides) {
    std::int64_t from = 0, stride = bytes_;
    std::vector<Loop> loops;  // the innermost first
    for (std::uint32_t d = region.dims; d-- > 0;) {
      const std::int64_t count = region.end[d] - region.begin[d];
      from += (region.begin[d] - origin[d]) * stride;
      to += (region.begin[d] - to_origin[d]) * strides[d];
      add(&loops, {count, stride, strides[d]});
      stride *= block_.extent[d];
    }
    if (loops.empty()) loops.push_back({1, bytes_, bytes_});
    return copy_loops(loops, loops.size() - 1, from, to);
  }

 private:
  // What follows on itself is one.
  static void add(std::vector<Loop>* loops, const Loop& loop) {
    if (loop.count == 1) return;
    Loop* const inner = loops->empty() ? nullptr : &loops->back();
    const bool continues =
        inner && loop.from == inner->count * inner->from && loop.to == inner->count * inner->to;
    if (continues)
      inner->count *= loop.count;
    else
      loops->push_back(loop);
  }

  Result<void> copy_loops(const std::vector<Loop>& loops, std::size_t level, std::int64_t from,
                          char* to) {
    const Loop& loop = loops[level];
    if (level == 0 && loop.from == bytes_) return copy_row(from, loop.count * bytes_, to, loop.to);
    for (std::int64_t i = 0; i < loop.count; ++i) {
      const Result<void> done =
          level == 0 ? copy_row(from + i * loop.from, bytes_, to + i * loop.to, bytes_)
                     : copy_loops(loops, level - 1, from + i * loop.from, to + i * loop.to);
      if (!done) return done;
    }
    return {};
  }

  // Bytes that lie together there; pieces hold whole elements.
  Result<void> copy_row(std::int64_t from, std::int64_t bytes, char* to, std::int64_t stride) {
    while (bytes > 0) {
      const auto at = static_cast<std::uint64_t>(from);
      const std::uint64_t number = at / kPiece, within = at % kPiece;
      const auto left = static_cast<std::int64_t>(PieceReader::bytes_of(block_, number) - within);
      const std::int64_t some = std::min(bytes, left);
      const bool is_whole = within == 0 && some == left && stride == bytes_;
      const Result<void> done = is_whole ? reader_.read(part_, block_, number, to)
                                         : copy_some(number, within, some, to, stride);
      if (!done) return done;
      from += some;
      bytes -= some;
      to += some / bytes_ * stride;
    }
    return {};
  }

  Result<void> copy_some(std::uint64_t number, std::uint64_t within, std::int64_t bytes, char* to,
                         std::int64_t stride) {
    const Result<const char*> piece = reader_.read(part_, block_, number);
    if (!piece) return piece.error();
    const char* from = *piece + within;
    const auto each = static_cast<std::size_t>(bytes_);
    if (stride == bytes_) {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
      return {};
    }
    for (; bytes > 0; bytes -= bytes_, from += bytes_, to += stride) std::memcpy(to, from, each);
    return {};
  }

  PieceReader& reader_;
  const SourcePart& part_;
  const Block& block_;
  const std::int64_t bytes_;
};

Error partly(Error error, std::int64_t filled) {
  error.message += filled > 0 ? "; the array is filled in part" : "; the array is as it was";
  return error;
}

class Filling {
 public:
  Filling(const CheckpointSource& source, const std::string& name, const Variable& variable,
          const FilledBlock& block)
      : source_(source),
        name_(name),
        variable_(variable),
        block_(block),
        dims_(block.array.dims),
        bytes_(scalar_bytes(variable.type)) {}

  Result<void> from_global() {
    const Region wanted = wanted_region();
    for (const SourcePart& part : source_.parts) {
      for (const Block& each : part.index.blocks) {
        if (Error why = why_elsewhere(each); why.status != Status::OK) return partly(why, filled_);
        const Region own = own_region(each);
        const Region common = own.common(wanted);
        if (common.cells() == 0) continue;
        const Result<void> done = copy(part, each, common);
        if (!done) return partly(done.error(), filled_ + common.cells());
        filled_ += common.cells();
      }
    }
    if (filled_ >= wanted.cells()) return {};
    return partly({Status::ERROR_SHAPE, title() + " has only " + std::to_string(filled_) +
                                            " of the " + std::to_string(wanted.cells()) +
                                            " cells of this block: no rank had written the others"},
                  filled_);
  }

  // What has no place in a global array is of its rank.
  Result<void> from_same_rank() {
    const std::int64_t ranks = source_.parts.front().index.ranks;
    if (ranks != block_.ranks)
      return partly({Status::ERROR_SHAPE,
                     "\"" + name_ + "\" has no global array, so that each rank has its own, and " +
                         title() + " is of " + std::to_string(ranks) + " ranks, this run of " +
                         std::to_string(block_.ranks) +
                         ": give its layout global=\"...\", or run on as many ranks"},
                    0);
    for (const SourcePart& part : source_.parts) {
      for (const Block& each : part.index.blocks) {
        if (each.rank != block_.rank || each.block != block_.block) continue;
        if (!std::equal(each.extent.begin(), each.extent.end(), block_.array.extent.begin()))
          return partly(other_extents(each), 0);
        Region whole{dims_, {}, {}};
        for (std::uint32_t d = 0; d < dims_; ++d) whole.end[d] = each.extent[d];
        if (whole.cells() == 0) return {};
        const Result<void> done = copy(part, each, whole);
        return done ? done : partly(done.error(), 1);
      }
    }
    return partly(
        {Status::ERROR_SHAPE, title() + " has no block " + std::to_string(block_.block) + " of \"" +
                                  name_ + "\" by rank " + std::to_string(block_.rank)},
        0);
  }

 private:
  std::string title() const { return "the " + checkpoint::title_of(source_.key); }

  std::string in_order(const std::int64_t* extents) const {
    return shape_text(extents, dims_, block_.column_major);
  }

  Error other_extents(const Block& found) const {
    return {Status::ERROR_SHAPE, title() + " has block " + std::to_string(block_.block) + " of \"" +
                                     name_ + "\" as an array of " + in_order(found.extent.data()) +
                                     ", and this one is of " +
                                     in_order(block_.array.extent.data())};
  }

  Error why_elsewhere(const Block& found) const {
    if (found.place != Block::Place::in_global)
      return {Status::ERROR_SHAPE, title() + " has \"" + name_ + "\" without a global array"};
    if (std::equal(found.global.begin(), found.global.end(), block_.global.begin()))
      return {Status::OK, ""};
    return {Status::ERROR_SHAPE, title() + " has \"" + name_ + "\" as a global array of " +
                                     in_order(found.global.data()) + ", and this run has one of " +
                                     in_order(block_.global.data()) +
                                     ": leat_read gives back what was written, cell by cell"};
  }

  Region wanted_region() const {
    Region region{dims_, {}, {}};
    for (std::uint32_t d = 0; d < dims_; ++d) {
      const std::int64_t first = block_.position[d] - block_.ghosts_before[d];
      const std::int64_t own =
          block_.array.extent[d] - block_.ghosts_before[d] - block_.ghosts_behind[d];
      region.begin[d] = std::max<std::int64_t>(0, first);
      region.end[d] =
          own <= 0 ? region.begin[d] : std::min(block_.global[d], first + block_.array.extent[d]);
    }
    return region;
  }

  Region own_region(const Block& each) const {
    Region region{dims_, {}, {}};
    for (std::uint32_t d = 0; d < dims_; ++d) {
      region.begin[d] = each.position[d];
      region.end[d] = each.position[d] + each.extent[d] - variable_.ghosts_before[d] -
                      variable_.ghosts_behind[d];
    }
    return region;
  }

  Result<void> copy(const SourcePart& part, const Block& each, const Region& region) {
    Numbers from{}, to{};
    for (std::uint32_t d = 0; d < dims_ && each.place == Block::Place::in_global; ++d) {
      from[d] = each.position[d] - variable_.ghosts_before[d];
      to[d] = block_.position[d] - block_.ghosts_before[d];
    }
    auto* const data = static_cast<char*>(const_cast<void*>(block_.array.data));
    return BlockCopy(reader_, part, each, bytes_).copy(region, from, data, to, block_.array.stride);
  }

  const CheckpointSource& source_;
  const std::string& name_;
  const Variable& variable_;
  const FilledBlock& block_;
  const std::uint32_t dims_;
  const std::size_t bytes_;
  PieceReader reader_;
  std::int64_t filled_ = 0;
};

}  // namespace

Result<void> fill_from(const CheckpointSource& source, const std::string& name,
                       const FilledBlock& block) {
  const Variable* const variable = source.find(name);
  const std::string title = "the " + checkpoint::title_of(source.key);
  if (!variable) return Error{Status::ERROR_UNKNOWN_NAME, title + " has no \"" + name + "\""};
  if (variable->type != block.array.type)
    return Error{Status::ERROR_TYPE, title + " has \"" + name + "\" as " +
                                         scalar_name(variable->type) + ", and this run as " +
                                         scalar_name(block.array.type)};
  if (variable->ghosts_before.size() != block.array.dims)
    return Error{Status::ERROR_SHAPE, title + " has \"" + name + "\" with " +
                                          std::to_string(variable->ghosts_before.size()) +
                                          " dimensions, and this run with " +
                                          std::to_string(block.array.dims)};
  Filling filling(source, name, *variable, block);
  return block.place == shm::Place::in_global ? filling.from_global() : filling.from_same_rank();
}

}  // namespace leat::client
