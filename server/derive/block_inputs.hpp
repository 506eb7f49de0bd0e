// SPDX-License-Identifier: Apache-2.0
// What a block that the server makes is made of: which blocks of the iteration go together, and how each of them lies to it.
//
// Blocks of the same rank and number go together; those of fewer dimensions with any that has the place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/derive/evaluation.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

/// What an iteration has for expressions.
struct DerivedFrom {
  std::map<std::uint32_t, std::vector<Block>> blocks;  ///< by variable
  std::vector<double> parameters;                      ///< by number; NaN where there is none
};

class BlockInputs {
 public:
  /// Both outlive it.
  BlockInputs(const model::Model& model, const DerivedFrom& from) : model_(model), from_(from) {}

  /// Those of the block that goes with `of`, one of the main variable, in the order of the names. "", or why there are none.
  std::string find(const model::Derived& derived, const Block& of,
                   std::vector<ArrayInput>* inputs) const;
  /// Makes of the whole `block`, and of what is taken of each input, the part that is kept. False when nothing of it lies there.
  bool select(const model::Layout& whole, const std::vector<model::Selected>& parts, Block* block,
              std::vector<ArrayInput>* inputs) const;

 private:
  const model::Layout& layout_of(std::uint32_t variable) const {
    return model_.layouts[model_.variables[variable].layout];
  }
  std::string take(const Block& own, std::uint32_t number, bool without_ghosts,
                   ArrayInput* input) const;
  const Block* block_like(const Block& own, std::uint32_t variable) const;

  const model::Model& model_;
  const DerivedFrom& from_;
};

/// "(64, 32)".
std::string extents_text(const Block& block, std::size_t dims);

}  // namespace leat::server
