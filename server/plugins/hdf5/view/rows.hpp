// SPDX-License-Identifier: Apache-2.0
// The iterations of a view: those that any part has, in ascending order.
#pragma once

#include <cstdint>
#include <vector>

#include "server/plugins/hdf5/view/part.hpp"

namespace leat::hdf5 {

/// `count` rows of a part, from `from` on, that are rows of the view: from `to` on, `step` apart.
struct RowRun {
  hsize_t from = 0, to = 0, count = 0, step = 1;
};

class Rows {
 public:
  explicit Rows(const std::vector<Part>& parts);

  hsize_t size() const { return numbers_.size(); }
  const std::vector<std::int64_t>& numbers() const { return numbers_; }
  /// 1 where all ranks of the run are in the parts and have said that they were complete.
  std::vector<std::uint8_t> complete() const { return complete_; }
  /// Row of the part for a row of the view; -1 where the part has not stored that iteration.
  std::int64_t in_part(std::size_t part, hsize_t row) const { return in_part_[part][row]; }
  /// The rows [from, upto) of a part; `written`, when not empty, says of each of its rows whether
  /// it counts.
  std::vector<RowRun> runs(std::size_t part, hsize_t from, hsize_t upto,
                           const std::vector<std::uint8_t>& written) const;

 private:
  std::vector<std::int64_t> numbers_;
  std::vector<std::uint8_t> complete_;
  std::vector<std::vector<std::int64_t>> in_part_;
  std::vector<std::vector<std::int64_t>> of_part_;  // row of the view for each of the part
};

}  // namespace leat::hdf5
