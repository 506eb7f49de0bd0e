// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/open_iterations.hpp"

#include <utility>

namespace leat::server {

Row row_of(const Written& written, std::int64_t iteration, std::uint32_t fate) {
  Row row = row_of_one(iteration);
  row.ranks = written.ranks;
  row.fate = fate;
  row.blocks = written.blocks;
  row.bytes = written.bytes;
  return row;
}

void OpenIterations::add(const Iteration& iteration, RankSets* sets) {
  std::vector<Written>& written = open_[iteration.number];
  written.clear();
  const std::vector<Block>& blocks = iteration.blocks;  // by variable, then rank
  for (std::size_t i = 0; i < blocks.size();) {
    Written one{blocks[i].variable, 0, 0, 0};
    ranks_.clear();
    for (; i < blocks.size() && blocks[i].variable == one.place; ++i) {
      append_rank(&ranks_, blocks[i].rank);
      ++one.blocks;
      one.bytes += blocks[i].bytes;
    }
    one.ranks = sets->number(ranks_);
    written.push_back(one);
    if (!drained_) continue;
    drained_->blocks += one.blocks;
    drained_->bytes += one.bytes;
  }
  if (drained_) ++drained_->iterations;
}

std::optional<std::vector<Written>> OpenIterations::look_at(std::int64_t iteration) const {
  const auto found = open_.find(iteration);
  if (found == open_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::vector<Written>> OpenIterations::take(std::int64_t iteration) {
  const auto found = open_.find(iteration);
  if (found == open_.end()) return std::nullopt;
  std::vector<Written> written = std::move(found->second);
  open_.erase(found);
  return written;
}

}  // namespace leat::server
