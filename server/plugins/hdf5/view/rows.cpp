// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/rows.hpp"

#include <algorithm>
#include <set>

namespace leat::hdf5 {

Rows::Rows(const std::vector<Part>& parts) {
  std::set<std::int64_t> all;
  for (const Part& part : parts) all.insert(part.iterations.begin(), part.iterations.end());
  numbers_.assign(all.begin(), all.end());
  std::vector<std::int64_t> ranks(numbers_.size(), 0);  // that have stored the row as a whole
  for (const Part& part : parts) {
    in_part_.emplace_back(numbers_.size(), -1);
    of_part_.emplace_back();
    for (std::size_t row = 0; row < part.iterations.size(); ++row) {
      const auto at = std::lower_bound(numbers_.begin(), numbers_.end(), part.iterations[row]);
      const auto to = static_cast<std::size_t>(at - numbers_.begin());
      of_part_.back().push_back(static_cast<std::int64_t>(to));
      in_part_.back()[to] = static_cast<std::int64_t>(row);
      if (part.complete[row]) ranks[to] += part.node_ranks;
    }
  }
  for (const std::int64_t stored : ranks) complete_.push_back(stored >= parts.front().ranks);
}

std::vector<RowRun> Rows::runs(std::size_t part, hsize_t from, hsize_t upto,
                               const std::vector<std::uint8_t>& written) const {
  std::vector<RowRun> runs;
  upto = std::min<hsize_t>(upto, of_part_[part].size());
  for (hsize_t row = from; row < upto; ++row) {
    if (!written.empty() && (row >= written.size() || !written[row])) continue;
    const auto to = static_cast<hsize_t>(of_part_[part][row]);
    RowRun* last = runs.empty() ? nullptr : &runs.back();
    const bool is_next = last && row == last->from + last->count;
    if (is_next && last->count == 1 && to > last->to) last->step = to - last->to;
    if (is_next && to == last->to + last->count * last->step) {
      ++last->count;
    } else {
      runs.push_back({row, to, 1, 1});
    }
  }
  return runs;
}

}  // namespace leat::hdf5
