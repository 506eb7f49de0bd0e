// SPDX-License-Identifier: Apache-2.0
// Values beside a block, as a derivative or an interpolation needs them: those of the block that has them, on the same server, else the
// ghosts that the rank has there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

/// Of a block, without its ghosts: where it lies in the whole, and how many values it has.
struct Interior {
  const Block* block = nullptr;
  std::array<std::int64_t, kMaxDims> begin{}, count{};
};

/// Of the whole: one index, or nothing where all those of a block are meant.
using FixedIndices = std::array<std::optional<std::int64_t>, kMaxDims>;

class Neighbours {
 public:
  /// Blocks of one variable in an iteration. Both outlive it.
  Neighbours(const model::Layout& layout, const std::vector<Block>& blocks)
      : layout_(layout), blocks_(blocks) {}

  Interior interior_of(const Block& block) const;
  /// The block of that rank and number; null: there is none.
  const Block* block_of(std::int32_t rank, std::uint32_t number) const;
  /// All values of it, in C order: where they lie, or in `room`.
  const double* values_of(const Interior& own, std::vector<double>* room) const;
  /// Values at the fixed indices, and along the other dimensions at those of `own`, in C order. "", or which are not known.
  std::string take(const Interior& own, const FixedIndices& fixed,
                   std::vector<double>* values) const;

 private:
  struct Taken;
  void copy(const Interior& from, const Interior& own, const FixedIndices& fixed, bool with_ghosts,
            Taken* taken) const;

  const model::Layout& layout_;
  const std::vector<Block>& blocks_;
};

}  // namespace leat::server
