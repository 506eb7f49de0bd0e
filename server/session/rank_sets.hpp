// SPDX-License-Identifier: Apache-2.0
// Sets of ranks, each kept once and known by a number: what 128 ranks do alike is said once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace leat::server {

/// Ascending, apart, first and last of each range included.
using Ranks = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// To a set without a greater rank.
void append_rank(Ranks* ranks, std::int32_t rank);
Ranks united(const Ranks& a, const Ranks& b);
/// "0-3, 7"; "-" for nobody.
std::string text_of(const Ranks& ranks);

class RankSets {
 public:
  static constexpr std::uint32_t kNobody = 0;
  static constexpr std::uint32_t kEverybody = 1;  ///< all whom the server has
  /// A run with more than so many sets is told only that others were of everybody.
  static constexpr std::size_t kMost = 16384;

  /// Everybody is `ranks`, of a server that has all of them, until somebody says otherwise.
  explicit RankSets(std::int32_t ranks);

  /// What is of everybody, before and after this call, is of these ranks.
  void set_everybody(const Ranks& ranks);

  /// kEverybody when there are too many sets. Known sets cost no allocation.
  std::uint32_t number(const Ranks& ranks);
  std::uint32_t united(std::uint32_t a, std::uint32_t b);
  const Ranks& operator[](std::uint32_t number) const { return sets_[number]; }

 private:
  std::map<Ranks, std::uint32_t> numbers_;
  std::vector<Ranks> sets_;
};

}  // namespace leat::server
