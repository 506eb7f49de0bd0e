// SPDX-License-Identifier: Apache-2.0
// The ranks of this node, by their numbers on it. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "server/session/client_link.hpp"
#include "server/session/rank_sets.hpp"
#include "server/session/run.hpp"

namespace leat::server {

class Clients {
 public:
  explicit Clients(const Run& run);

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(links_.size()); }
  ClientLink& operator[](std::uint32_t index) noexcept { return links_[index]; }
  const ClientLink& operator[](std::uint32_t index) const noexcept { return links_[index]; }
  auto begin() noexcept { return links_.begin(); }
  auto end() noexcept { return links_.end(); }
  auto begin() const noexcept { return links_.begin(); }
  auto end() const noexcept { return links_.end(); }

  bool all_gone() const noexcept;
  bool all_have_attached() const noexcept;
  bool none_has_come() const noexcept;
  /// All talk to this server.
  bool all_are_here() const noexcept;
  /// One was attached to the server before this one, and has yet to come back.
  bool any_awaited() const noexcept;
  /// The same, of those whose process lives; those too who only wait for the last word. One that is
  /// cut off computes, maybe for hours.
  bool any_away() const noexcept;
  /// One of those that are attached has pushed an event: what others write is not taken.
  bool any_speaks() noexcept;
  /// One that has yet to come. One that lives had attached to the server before this one, and comes
  /// back.
  bool is_expected(std::uint32_t index) const noexcept;

  /// Ranks of this node that belong to its other servers, by their number on the node. They come to
  /// the first server, which tells them where to go; it waits for them as it does for its own: a
  /// rank that came later would start another first server.
  void other_came(std::int32_t node_rank) noexcept;
  bool any_other_expected() const noexcept { return !others_expected_.empty() && !gave_up_others_; }
  const std::set<std::int32_t>& others_expected() const noexcept { return others_expected_; }
  void give_up_others() noexcept { gave_up_others_ = true; }
  /// For the journal: those that came.
  std::vector<std::int32_t> others_seen() const;

  /// The lowest rank of those that came, when not all are known the lowest that it may be.
  std::int32_t lowest_rank() const noexcept;
  /// Those that came, also when they are gone.
  Ranks known_ranks() const;
  /// "rank 3"
  std::string name_of(std::uint32_t index) const;
  /// Says what of this client made no sense; not for ever.
  void complain(std::uint32_t index, const std::string& what);

 private:
  const Run& run_;
  std::vector<ClientLink> links_;
  std::vector<int> complaints_;  // by client
  std::set<std::int32_t> others_expected_;
  bool gave_up_others_ = false;
};

}  // namespace leat::server
