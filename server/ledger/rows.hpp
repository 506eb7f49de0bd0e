// SPDX-License-Identifier: Apache-2.0
// What became of one variable, run-length: a row says the same of many iterations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/session/rank_sets.hpp"

namespace leat::server {

/// Iterations first, first + step, ... last: these ranks wrote, and this became of it.
struct Row {
  std::int64_t first = 0, last = 0, step = 1;
  std::uint32_t ranks = RankSets::kNobody;  ///< a number of RankSets
  std::uint32_t fate = 0;                   ///< a number of Fates
  std::uint64_t blocks = 0, bytes = 0;      ///< of all of it
  bool exact = true;  ///< false: some of these iterations and ranks only, `blocks` still holds

  std::int64_t iterations() const { return (last - first) / step + 1; }
  bool has(std::int64_t iteration) const {
    return iteration >= first && iteration <= last && (iteration - first) % step == 0;
  }
};

/// Without ranks, and nothing became of it.
Row row_of_one(std::int64_t iteration);

class Rows {
 public:
  /// So many rows of one variable are exact whatever happens; of more, old ones become less so.
  static constexpr std::size_t kMost = 512;

  /// `one` is about one iteration, which is not negative. Amortised constant time; no allocation
  /// when it continues one of the latest rows.
  void add(const Row& one, RankSets* sets);
  /// Those continued last are last.
  const std::vector<Row>& all() const noexcept { return rows_; }
  auto begin() const noexcept { return rows_.begin(); }
  auto end() const noexcept { return rows_.end(); }

 private:
  void merge_old(RankSets* sets);

  std::vector<Row> rows_;
  std::size_t limit_ = kMost;
};

}  // namespace leat::server
