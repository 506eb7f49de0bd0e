// SPDX-License-Identifier: Apache-2.0
// The particles of other servers of the run that are near those of this one. In a first step each server tells where the
// particles of its blocks lie, in a second one it sends those that are near the others' blocks; so pairs that lie on two servers are
// found by what is at their borders. All servers get what is sent, so there is a limit on it, and who has more says so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "server/plugins/analytics/particles.hpp"
#include "server/plugins/analytics/values.hpp"

namespace leat::analytics {

/// Throws std::runtime_error where it is to go over all servers of the run, and cannot.
void expect_that_it_can_reduce(Scope scope, const Host& host);
/// A warning: of so many particles that lie near those of other servers, pairs may be missing in `product`. `option`: what makes it fewer.
std::string too_many_to_send(std::int64_t left_out, const std::string& product,
                             const std::string& option);

/// What all servers together send in one step; each may have its share.
inline constexpr std::size_t kMostSent = std::size_t{32} << 20;
inline constexpr std::size_t kMostSentByOne = std::size_t{7} << 20;

/// Plain values, one after the other, as servers of one kind of machine have them.
template <class T>
void put(const T& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}
/// Takes one from the beginning; throws std::runtime_error where nothing is left.
template <class T>
T take(std::string_view* bytes) {
  T value;
  if (bytes->size() < sizeof value)
    throw std::runtime_error("another server of the run sent too few bytes");
  std::memcpy(&value, bytes->data(), sizeof value);
  bytes->remove_prefix(sizeof value);
  return value;
}

/// Where the particles of a block lie: between two corners; along a periodic axis on an arc, whose end may lie beyond the box.
struct Place {
  std::int64_t rank = 0, block = 0, count = 0;
  Point low{}, high{};
};

/// What a server tells first.
struct Told {
  std::uint32_t axes = 0;      ///< 0: it has no positions in this iteration
  std::uint32_t is_later = 0;  ///< it has had an iteration before this one
  std::vector<Place> places{};
};
Told told_of(const Cloud& cloud, const Box& box, bool is_later);

/// The servers that make something of an iteration together: those that have given what was wanted in each step until now.
class Company {
 public:
  /// Of this server alone, which is all there is.
  explicit Company(Told own) : told_{{0, std::move(own)}} {}
  /// Of what all have told, in the only column. Throws std::runtime_error where they do not fit together.
  explicit Company(const Reduced& all);
  static std::string bytes_of(const Told& told);

  /// What this server gives in a step where it has nothing to say but that it is there.
  std::string here() const { return is_in() ? "1" : ""; }
  /// Those remain that gave something in this column. False: some have gone, and what was made with them is to be made anew.
  bool remain(const Reduced& all, std::size_t column);

  bool is_in() const { return has(self_); }
  bool has(int server) const { return told_.count(server) > 0; }
  int self() const { return self_; }
  int servers_missing() const { return servers_ - static_cast<int>(told_.size()); }
  bool has_others() const { return servers_ > 1; }
  /// This server is the one that publishes: the first that knows what is called what.
  bool publishes() const;
  const std::map<int, Told>& told() const { return told_; }
  /// In one step, in bytes.
  std::size_t share() const {
    return std::min(kMostSentByOne, kMostSent / std::max<std::size_t>(1, told_.size()));
  }
  std::int64_t particles() const;
  /// Of the box, or of the smallest one with sides along the axes that has all particles; an area for two axes.
  double volume(const Box& box, std::size_t axes) const;

 private:
  std::map<int, Told> told_;
  int self_ = 0, servers_ = 1;
};

/// Those of its particles that are at most `reach` from the places of others: of all, or of those alone that are before this one.
std::vector<std::size_t> near_others(const Cloud& cloud, const Box& box, double reach,
                                     const Company& company, bool of_all);

/// Particles of another server, and their numbers where `numbers` were sent.
struct Sent {
  std::vector<Point> points{};
  std::vector<std::int64_t> numbers{};
  std::int64_t left_out = 0;  ///< that would have had to be sent, and were too many
};
/// Those of these places; nothing but their number where they are more than may be sent. `numbers`: of all, or null.
std::string bytes_of_sent(const Cloud& cloud, const std::vector<std::size_t>& those,
                          const std::vector<std::int64_t>* numbers, const Company& company);
Sent sent_in(std::string_view bytes, std::size_t axes, bool has_numbers);

}  // namespace leat::analytics
