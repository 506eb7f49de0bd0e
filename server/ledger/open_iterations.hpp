// SPDX-License-Identifier: Apache-2.0
// Iterations that were handed over, and of which it is not known yet what became of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "server/ledger/rows.hpp"
#include "server/session/iteration.hpp"

namespace leat::server {

/// What was found in memory when everything else of the run was dead.
struct DrainCount {
  std::uint64_t iterations = 0, blocks = 0, bytes = 0;
};

/// Of one variable in one iteration.
struct Written {
  std::uint32_t place = 0, ranks = 0;
  std::uint64_t blocks = 0, bytes = 0;
};
Row row_of(const Written& written, std::int64_t iteration, std::uint32_t fate);

class OpenIterations {
 public:
  /// In the place of what was said of it before.
  void add(const Iteration& iteration, RankSets* sets);
  /// Nothing when it is not open.
  std::optional<std::vector<Written>> take(std::int64_t iteration);
  /// The same, and it stays open.
  std::optional<std::vector<Written>> look_at(std::int64_t iteration) const;
  std::size_t size() const noexcept { return open_.size(); }

  /// From now on all that is added is counted too.
  void begin_drain() { drained_.emplace(); }
  const std::optional<DrainCount>& drained() const noexcept { return drained_; }

 private:
  std::map<std::int64_t, std::vector<Written>> open_;
  std::optional<DrainCount> drained_;
  Ranks ranks_;  // of the call in progress; kept so that it allocates nothing
};

}  // namespace leat::server
