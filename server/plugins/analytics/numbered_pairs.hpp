// SPDX-License-Identifier: Apache-2.0
// The pairs of near particles of an iteration, by the numbers of the particles, and what has become of bonds: of one server, and what
// others send it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/plugins/analytics/bonds_file.hpp"
#include "server/plugins/analytics/other_servers.hpp"

namespace leat::analytics {

/// What a server has found of its bonds and particles.
struct Found {
  std::int64_t bonds = 0, broken = 0, missing = 0, left_out = 0;
  std::int64_t without_bonds = 0;  ///< servers that were not there when the bonds were found
  std::vector<std::int64_t> coordination{};  ///< by number of neighbours: particles
  std::vector<Pair> pairs{};
  void add(Found&& more);
};
/// Without the pairs, which are left out then, where they are more than may be sent.
std::string bytes_of(Found found, const Company& company);
Found found_in(std::string_view bytes);

/// Where a particle without a number of its own is among all of the run, by its rank and its place there, which are its number else.
class PlacesAmongAll {
 public:
  explicit PlacesAmongAll(const Company& company);
  std::int64_t of(std::int64_t number) const;

 private:
  std::map<std::int64_t, std::int64_t> first_;  // by rank
};

class NumberedPairs {
 public:
  explicit NumberedPairs(Cloud cloud) : cloud_(std::move(cloud)) {}
  /// By the variable `ids`; "": by rank and place there. Throws std::runtime_error where numbers are missing or not different.
  void number(const leat_run& run, const leat_iteration_data& data, const std::string& ids);

  const Cloud& cloud() const { return cloud_; }
  const std::vector<std::int64_t>& numbers() const { return numbers_; }
  Pair pair(std::size_t i, std::size_t j) const { return sorted(numbers_[i], numbers_[j]); }
  void add_own(const std::vector<Pair>& pairs) {
    own_.insert(own_.end(), pairs.begin(), pairs.end());
  }
  /// Those that are near, of another server; of `self`, how many were too many. `cells`: of the own ones.
  void add_sent(int server, int self, Sent sent, const CellList& cells);
  /// Those that this server has: its own, and those with servers behind it.
  std::vector<Pair> pairs(const Company& company) const;

  /// Particles of bonds that it knows nothing of.
  std::string bytes_of_wanted(const std::vector<Pair>& bonds, const Company& company);
  static bool is_nothing_wanted(const Reduced& asked, const Company& company);
  /// Those that others want, and are here.
  std::string bytes_of_answers(const Reduced& asked, const Company& company);
  void add_answers(const Reduced& all, const Company& company);

  Found found(const std::vector<Pair>& bonds, const Box& box, double longest,
              const Company& company) const;

 private:
  // What others have sent.
  struct Others {
    std::vector<std::pair<std::size_t, std::int64_t>>
        near{};  // place of the own one, number of theirs
    std::unordered_map<std::int64_t, Point> points{};
  };

  static Pair sorted(std::int64_t a, std::int64_t b) { return {std::min(a, b), std::max(a, b)}; }
  const Point* point_of(std::int64_t number, const Company& company) const;
  std::vector<std::int64_t> coordination(const Company& company) const;

  Cloud cloud_;
  std::vector<std::int64_t> numbers_;
  std::unordered_map<std::int64_t, std::size_t> places_;  // by number
  std::vector<Pair> own_;
  std::map<int, Others> others_;
  int self_ = 0;
  std::int64_t left_out_ = 0;  // by this server
};

}  // namespace leat::analytics
