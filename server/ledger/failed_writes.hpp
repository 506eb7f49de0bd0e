// SPDX-License-Identifier: Apache-2.0
// Writes that failed at a client. They wait for the end of their iteration, so that one row says it
// of all ranks.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/ledger/ledger_table.hpp"

namespace leat::server {

class FailedWrites {
 public:
  /// So many wait; with more, rows come earlier.
  static constexpr std::size_t kMost = 4096;

  struct One {  // write, or several
    std::int64_t iteration = 0;
    std::uint32_t place = 0, why = 0;  ///< numbers of the table
    std::int32_t rank = 0;
    std::uint64_t blocks = 1, bytes = 0;
    auto operator<=>(const One&) const = default;
  };

  void add(const One& one, LedgerTable* table);
  /// Makes rows of those up to this iteration.
  void settle(std::int64_t until, LedgerTable* table);
  /// Of those that wait.
  bool has(std::uint32_t place, std::int64_t iteration) const;
  /// How many wait.
  std::uint64_t writes() const noexcept { return writes_; }

 private:
  std::vector<One> all_;
  std::uint64_t writes_ = 0;
  Ranks ranks_;  // of the call in progress; kept so that it allocates nothing
};

}  // namespace leat::server
