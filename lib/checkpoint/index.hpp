// SPDX-License-Identifier: Apache-2.0
// The index of a part of a checkpoint: what a server has stored of it, and where. Text, one thing in a line, words separated by
// tabs; \t, \n and \\ stand for such characters in texts. The last line has the sum of all lines before it, so that an
// index that was cut off is none. docs/reference/checkpoint.md says what stands in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/scalar.hpp"
#include "lib/base/status.hpp"

namespace leat::checkpoint {

/// Of each so many bytes of a block there is a sum: who needs a few cells reads no more than that.
inline constexpr std::uint64_t kPiece = 256 * 1024;

/// First and last of each range of ranks.
using Ranks = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct Parameter {
  std::string name;
  ParameterValue value;
};

struct Variable {
  std::string name;
  ScalarType type = ScalarType::float64;
  std::vector<std::int64_t> ghosts_before, ghosts_behind;  ///< as many as it has dimensions
};

/// One array of one rank, ghosts included, in C order.
struct Block {
  enum class Place { none, in_global, in_level };

  std::uint32_t variable = 0;  ///< of the index
  std::int32_t rank = 0;
  std::uint32_t block = 0;
  std::uint64_t offset = 0, bytes = 0;
  std::vector<std::int64_t> extent;
  Place place = Place::none;
  std::int32_t level = 0;
  std::vector<std::int64_t> position, global;  ///< as far as `place` has them
  std::vector<std::uint32_t> sums;             ///< CRC-32C of each piece
};

struct Index {
  std::string simulation, session;
  std::int64_t server = 0;  ///< number of the run on its node
  std::int64_t iteration = 0, generation = 0;
  std::int64_t ranks = 0;   ///< of the run
  Ranks own;                ///< whose blocks are in this part
  std::uint64_t bytes = 0;  ///< of the file of data
  std::vector<Parameter> parameters;
  std::vector<Variable> variables;
  std::vector<Block> blocks;
  std::uint32_t sum = 0;  ///< of the text; two parts with the same one are the same
};

std::string to_text(const Index& index);

/// Which blocks are taken of a text.
struct Wanted {
  bool blocks = true;
  std::string_view variable{};  ///< "": of all
};

/// An error for a text that is no index, or not a whole one.
Result<Index> index_of(std::string_view text, const Wanted& wanted = {});

}  // namespace leat::checkpoint
