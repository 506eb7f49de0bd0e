// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/rows.hpp"

#include <algorithm>
#include <map>

namespace leat::server {
namespace {

// Rows that are continued in turns (of several stores, of those that store every tenth iteration)
// are all among so many at the end.
constexpr std::size_t kDepth = 32;
constexpr std::size_t kRecent = 64;

bool continues(Row* row, std::int64_t iteration) {
  if (row->has(iteration)) return true;
  if (iteration < row->last) return false;
  const std::int64_t step = iteration - row->last;
  if (row->first != row->last && step != row->step) return false;
  row->step = step;
  row->last = iteration;
  return true;
}

void merge(Row* into, const Row& other, RankSets* sets) {
  into->first = std::min(into->first, other.first);
  into->last = std::max(into->last, other.last);
  into->step = 1;
  into->ranks = sets->united(into->ranks, other.ranks);
  into->blocks += other.blocks;
  into->bytes += other.bytes;
  into->exact = false;
}

}  // namespace

Row row_of_one(std::int64_t iteration) {
  Row row;
  row.first = row.last = std::max<std::int64_t>(iteration, 0);
  return row;
}

void Rows::add(const Row& one, RankSets* sets) {
  const std::size_t depth = std::min(rows_.size(), kDepth);
  for (std::size_t i = 1; i <= depth; ++i) {
    Row& row = rows_[rows_.size() - i];
    if (row.fate != one.fate || row.ranks != one.ranks || row.exact != one.exact) continue;
    if (!continues(&row, one.first)) continue;
    row.blocks += one.blocks;
    row.bytes += one.bytes;
    const auto place = rows_.end() - static_cast<std::ptrdiff_t>(i);
    std::rotate(place, place + 1, rows_.end());  // the latest is last
    return;
  }
  if (rows_.size() >= limit_) merge_old(sets);
  rows_.push_back(one);
}

// Halves what is old: each two rows of one fate become one. Different fates stay apart.
void Rows::merge_old(RankSets* sets) {
  const std::size_t old = rows_.size() - kRecent;
  std::map<std::uint32_t, std::size_t> single;  // by fate, in `kept`
  std::vector<Row> kept;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto other = i < old ? single.find(rows_[i].fate) : single.end();
    if (other != single.end()) {
      merge(&kept[other->second], rows_[i], sets);
      single.erase(other);
    } else {
      kept.push_back(rows_[i]);
      if (i < old) single[rows_[i].fate] = kept.size() - 1;
    }
  }
  rows_ = std::move(kept);
  limit_ = std::max(kMost, rows_.size() * 3 / 2);
}

}  // namespace leat::server
