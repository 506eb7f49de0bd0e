// SPDX-License-Identifier: Apache-2.0
// reduce="mean(y, x)": what the blocks of this server come to, and with those of the other servers the run.
//
// Sums are the same, to the last bit, however values are spread over ranks and servers. Of a block they are made as pairs of doubles
// (T. J. Dekker, "A floating-point technique for extending the available precision", 1971), which lose what is some 10^32 times less
// than the sum; what blocks come to is added exactly.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/comm/columns.hpp"
#include "lib/model/model.hpp"
#include "server/derive/evaluation.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

/// Calls with the values of a block, in C order, in parts.
using BlockValues = std::function<void(const Evaluation::Take& take)>;

class SpaceReducer {
 public:
  /// More cells are refused: all servers hold all of them.
  static constexpr std::int64_t kMostCells = std::int64_t{1} << 20;

  /// Of a derived variable with a reduction.
  explicit SpaceReducer(const model::Derived& derived) : derived_(derived) {}

  /// A block, after what is selected of it. "", or why it is not taken.
  std::string add(const Block& block, const BlockValues& values);
  /// It has taken blocks, or what is left is one value whatever they are.
  bool is_known() const { return is_known_ || extents().empty(); }
  /// For the round of all servers: of server `self`.
  comm::Columns columns(comm::Rank self) const;

  struct Result {
    std::int64_t server =
        0;  ///< the one that has it in its files: the first that has values; INT64_MAX: none
    std::int64_t gave = 0;              ///< servers
    std::vector<std::int64_t> extents;  ///< of what is left
    std::vector<std::int64_t> counts;   ///< by cell: values in it
    std::vector<double> values;         ///< by cell; NaN where there are none
  };
  /// Of columns() of some servers.
  Result result(const comm::Columns& columns) const;
  /// Of what is left.
  std::vector<std::int64_t> extents() const;

 private:
  struct Cells {
    std::vector<double> high, low;  // sums, or the least and largest in `high`
    std::vector<std::int64_t> counts;
  };
  std::string prepare(const Block& block);
  void take(std::int64_t first, const double* values, std::int64_t count);
  void take_run(std::int64_t cell, std::int64_t step, const double* values, std::int64_t count);
  void close_block();
  bool adds() const;
  double neutral() const;

  const model::Derived& derived_;
  bool is_known_ = false;
  std::array<std::int64_t, kMaxDims> global_{};
  // Of the block
  std::array<std::int64_t, kMaxDims> extent_{}, position_{}, steps_{};  // in cells
  Cells of_block_;
  std::vector<comm::ExactSum> sums_;
  std::vector<double> extremes_;
  std::vector<std::int64_t> counts_;
};

}  // namespace leat::server
