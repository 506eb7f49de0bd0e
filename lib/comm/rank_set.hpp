// SPDX-License-Identifier: Apache-2.0
// Which servers of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace leat::comm {

/// A server among those of its run: 0 to size - 1.
using Rank = std::int32_t;

// Held as ranges in order, none of which touches the next: thousands that follow each other are two
// numbers, and a copy is one piece of memory (sets of Boost.ICL are trees).
class RankSet {
 public:
  struct Range {
    Rank first = 0, last = 0;
    bool operator==(const Range&) const = default;
  };

  RankSet() = default;
  explicit RankSet(Rank rank) : ranges_{{rank, rank}} {}
  /// Both are in it; empty when `last` is less.
  RankSet(Rank first, Rank last) {
    if (first <= last) ranges_.push_back({first, last});
  }

  /// False, and it is as it was: they are not in order, or touch each other.
  bool set(std::vector<Range> ranges);

  RankSet& operator+=(const RankSet& other);
  RankSet& operator+=(Rank rank) { return *this += RankSet(rank); }
  RankSet& operator-=(const RankSet& other);
  RankSet& operator-=(Rank rank) { return *this -= RankSet(rank); }
  friend RankSet operator+(RankSet a, const RankSet& b) { return std::move(a += b); }
  friend RankSet operator-(RankSet a, const RankSet& b) { return std::move(a -= b); }
  friend RankSet operator&(const RankSet& a, const RankSet& b) {
    return b.has(a) ? a : a - (a - b);
  }
  bool operator==(const RankSet&) const = default;

  bool empty() const { return ranges_.empty(); }
  std::size_t count() const;
  bool has(Rank rank) const { return !empty() && first() <= rank && last_from(rank) >= rank; }
  bool has(const RankSet& part) const;
  bool overlaps(const RankSet& other) const;
  /// Whether all of `part` are in one of `some` at least: what `(a + b).has(part)` says, and no set is made.
  static bool have(std::initializer_list<const RankSet*> some, const RankSet& part);
  /// What `(*this & other).count()` says, and no set is made.
  std::size_t count_in(const RankSet& other) const;
  /// Of one that is not empty.
  Rank first() const { return ranges_.front().first; }
  const std::vector<Range>& ranges() const { return ranges_; }
  std::vector<Rank> ranks() const;
  /// "0-3, 7", for people.
  std::string text() const;

 private:
  /// The last one of those that follow each other from this one on; before it, when it is not in.
  Rank last_from(Rank rank) const;

  std::vector<Range> ranges_;
};

}  // namespace leat::comm
