// SPDX-License-Identifier: Apache-2.0
// The values of blocks without their ghost cells, in pieces of about one size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "server/include/plugin.hpp"

namespace leat::analytics {

/// Elements of a piece: some hundred microseconds of work, and small enough for a core's cache.
inline constexpr std::uint64_t kPieceElements = 1 << 16;

/// A part of what a rank owns of a block: `count` elements from number `first` on, in C order.
struct Piece {
  const leat_variable* variable;
  const leat_block* block;
  std::uint64_t first, count;
};

/// No text, no complex numbers.
bool is_numeric(const leat_variable& variable);

/// How many of a block its rank owns.
std::uint64_t element_count(const leat_variable& variable, const leat_block& block);

/// All of the numeric blocks of an iteration, in their order; of one variable, they are neighbours.
std::vector<Piece> pieces_of(const leat_run& run, const leat_iteration_data& data);

/// All numeric variables of the run, in its order: the same on all servers, whatever an iteration holds.
std::vector<const leat_variable*> numeric_variables(const leat_run& run);

/// Over what an analysis goes: all servers of the run, or with <option name="scope" value="node"/> what the ranks of this one own.
enum class Scope { run, node };
Scope scope_of(const leat_run& run);
/// There are other servers, on other nodes.
inline bool has_other_servers(const leat_run& run) { return run.ranks > run.node_ranks; }

/// "fields/temperature" as it may stand in the name of a product: "fields.temperature".
std::string product_name(const leat_variable& variable);

/// The values of one dimension of a block that its rank owns.
inline std::int64_t own_extent(const leat_variable& variable, const leat_block& block,
                               std::uint32_t d) {
  const leat_dimension& dimension = variable.dimension[d];
  return std::max<std::int64_t>(0, block.extent[d] - dimension.ghost_low - dimension.ghost_high);
}

namespace detail {

// Where in the block the row lies that has this number among those its rank owns.
std::uint64_t row_offset(const Piece& piece, std::uint64_t row);

template <class T, class Use>
void use_runs(const Piece& piece, Use& use) {
  const auto* data = static_cast<const T*>(piece.block->data);
  const leat_variable& variable = *piece.variable;
  if (variable.dims == 0) return use(data, piece.count);
  const auto length =
      static_cast<std::uint64_t>(own_extent(variable, *piece.block, variable.dims - 1));
  std::uint64_t at = piece.first;
  for (std::uint64_t left = piece.count; left > 0;) {
    const std::uint64_t begin = at % length, count = std::min(left, length - begin);
    use(data + row_offset(piece, at / length) + begin, count);
    at += count;
    left -= count;
  }
}

}  // namespace detail

/// Calls use(const T* values, std::uint64_t count) for each run of neighbours in memory, in order.
template <class Use>
void for_each_run(const Piece& piece, Use use) {
  switch (piece.variable->type) {
    case LEAT_INT8:
      return detail::use_runs<std::int8_t>(piece, use);
    case LEAT_INT16:
      return detail::use_runs<std::int16_t>(piece, use);
    case LEAT_INT32:
      return detail::use_runs<std::int32_t>(piece, use);
    case LEAT_INT64:
      return detail::use_runs<std::int64_t>(piece, use);
    case LEAT_UINT8:
      return detail::use_runs<std::uint8_t>(piece, use);
    case LEAT_UINT16:
      return detail::use_runs<std::uint16_t>(piece, use);
    case LEAT_UINT32:
      return detail::use_runs<std::uint32_t>(piece, use);
    case LEAT_UINT64:
      return detail::use_runs<std::uint64_t>(piece, use);
    case LEAT_FLOAT32:
      return detail::use_runs<float>(piece, use);
    case LEAT_FLOAT64:
      return detail::use_runs<double>(piece, use);
    default:
      return;
  }
}

}  // namespace leat::analytics
