// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/failed_writes.hpp"

#include <algorithm>

namespace leat::server {

void FailedWrites::add(const One& one, LedgerTable* table) {
  all_.push_back(one);
  writes_ += one.blocks;
  if (all_.size() > kMost) settle(INT64_MAX, table);
}

// Sorted, those of one iteration, variable and reason follow each other, rank by rank.
void FailedWrites::settle(std::int64_t until, LedgerTable* table) {
  if (all_.empty()) return;
  std::sort(all_.begin(), all_.end());
  std::size_t i = 0;
  while (i < all_.size() && all_[i].iteration <= until) {
    const One& first = all_[i];
    Row row = row_of_one(first.iteration);
    ranks_.clear();
    for (; i < all_.size() && all_[i].iteration == first.iteration &&
           all_[i].place == first.place && all_[i].why == first.why;
         ++i) {
      append_rank(&ranks_, all_[i].rank);
      row.blocks += all_[i].blocks;
      row.bytes += all_[i].bytes;
    }
    row.ranks = table->rank_sets().number(ranks_);
    row.fate = table->fate({Fate::Kind::not_written, 0, first.why});
    table->add(first.place, row);
    writes_ -= row.blocks;
  }
  all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(i));
}

bool FailedWrites::has(std::uint32_t place, std::int64_t iteration) const {
  return std::any_of(all_.begin(), all_.end(), [&](const One& one) {
    return one.place == place && one.iteration == iteration;
  });
}

}  // namespace leat::server
