// SPDX-License-Identifier: Apache-2.0
// What a server must know of its run to take part in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/comm/rank_set.hpp"

namespace leat::comm {

/// Where one server can be reached: all addresses of its node, which are tried in turn.
struct Card {
  Rank rank = 0;
  std::string name{};  ///< of the node, for people
  std::uint16_t port = 0;
  std::vector<std::string> addresses{};  ///< "10.1.0.3", "2001:db8::1"; empty: no network there
  bool operator==(const Card&) const = default;
};

/// The same on all servers but `self`.
struct Meeting {
  Rank self = 0;
  std::string run{};          ///< the same for all servers of a run, another one for each run
  std::string credential{};   ///< Credential::text(): a secret
  std::vector<Card> cards{};  ///< one for each server, in the order of their ranks

  Rank size() const { return static_cast<Rank>(cards.size()); }
};

}  // namespace leat::comm
