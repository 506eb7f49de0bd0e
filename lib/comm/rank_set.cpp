// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/rank_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace leat::comm {

bool RankSet::set(std::vector<Range> ranges) {
  Rank next = 0;  // the least that the next one may begin with
  for (const Range& each : ranges) {
    if (each.first < next || each.last < each.first || each.last > INT32_MAX - 2) return false;
    next = each.last + 2;
  }
  ranges_ = std::move(ranges);
  return true;
}

RankSet& RankSet::operator+=(const RankSet& other) {
  if (has(other)) return *this;
  if (ranges_.empty()) return *this = other;
  if (ranges_.back().last + 1 < other.first()) {
    ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
    return *this;
  }
  std::vector<Range> all;
  all.reserve(ranges_.size() + other.ranges_.size());
  std::merge(ranges_.begin(), ranges_.end(), other.ranges_.begin(), other.ranges_.end(),
             std::back_inserter(all),
             [](const Range& a, const Range& b) { return a.first < b.first; });
  ranges_.clear();
  for (const Range& each : all) {
    if (!ranges_.empty() && each.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, each.last);
    } else {
      ranges_.push_back(each);
    }
  }
  return *this;
}

RankSet& RankSet::operator-=(const RankSet& other) {
  if (!overlaps(other)) return *this;
  std::vector<Range> left;
  auto cut = other.ranges_.begin();
  for (const Range& each : ranges_) {
    Rank first = each.first;
    while (cut != other.ranges_.end() && cut->last < first) ++cut;
    for (auto at = cut; at != other.ranges_.end() && at->first <= each.last; ++at) {
      if (first < at->first) left.push_back({first, at->first - 1});
      first = at->last + 1;
    }
    if (first <= each.last) left.push_back({first, each.last});
  }
  ranges_ = std::move(left);
  return *this;
}

std::size_t RankSet::count() const {
  std::size_t count = 0;
  for (const Range& each : ranges_) count += static_cast<std::size_t>(each.last - each.first) + 1;
  return count;
}

Rank RankSet::last_from(Rank rank) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), rank,
                       [](Rank value, const Range& range) { return value < range.first; });
  if (after == ranges_.begin()) return rank - 1;
  return std::max(rank - 1, std::prev(after)->last);
}

bool RankSet::has(const RankSet& part) const {
  auto at = ranges_.begin();
  for (const Range& each : part.ranges_) {
    while (at != ranges_.end() && at->last < each.first) ++at;
    if (at == ranges_.end() || each.first < at->first || at->last < each.last) return false;
  }
  return true;
}

bool RankSet::overlaps(const RankSet& other) const {
  auto at = ranges_.begin();
  for (const Range& each : other.ranges_) {
    while (at != ranges_.end() && at->last < each.first) ++at;
    if (at == ranges_.end()) return false;
    if (at->first <= each.last) return true;
  }
  return false;
}

bool RankSet::have(std::initializer_list<const RankSet*> some, const RankSet& part) {
  for (const Range& each : part.ranges_) {
    for (Rank next = each.first; next <= each.last;) {
      const Rank begin = next;
      for (const RankSet* const set : some) next = set->last_from(next) + 1;
      if (next == begin) return false;
    }
  }
  return true;
}

std::size_t RankSet::count_in(const RankSet& other) const {
  std::size_t count = 0;
  auto at = other.ranges_.begin();
  for (const Range& each : ranges_) {
    while (at != other.ranges_.end() && at->last < each.first) ++at;
    for (auto in = at; in != other.ranges_.end() && in->first <= each.last; ++in)
      count += static_cast<std::size_t>(std::min(in->last, each.last) -
                                        std::max(in->first, each.first)) +
               1;
  }
  return count;
}

std::vector<Rank> RankSet::ranks() const {
  std::vector<Rank> all;
  for (const Range& each : ranges_)
    for (Rank rank = each.first; rank <= each.last; ++rank) all.push_back(rank);
  return all;
}

std::string RankSet::text() const {
  std::string text;
  for (const Range& each : ranges_) {
    if (!text.empty()) text += ", ";
    text += std::to_string(each.first);
    if (each.last > each.first) text += "-" + std::to_string(each.last);
  }
  return text;
}

}  // namespace leat::comm
