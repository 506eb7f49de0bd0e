// SPDX-License-Identifier: Apache-2.0
// What a server must know of its run to take part in it, and what each server says of itself for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.hpp"
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
  bool all_have_addresses() const;
};

// Servers meet when each has the offers of all, in the order of the ranks of the run that they serve. Who carries them, be it
// the ranks of the simulation or a folder, understands nothing of them.

/// What one server says of itself.
struct Offer {
  std::uint64_t number = 0;  ///< random; of this server in this run alone
  Card card{};               ///< its rank is known when all offers are
  std::string credential{};  ///< a secret: of the first server, for all
  bool operator==(const Offer&) const = default;
};
inline constexpr std::size_t kMostBytesOfOffer = 2048;  ///< less than 900 without its credential
inline constexpr std::size_t kMostAddresses = 12;

/// Of a server that begins; with a credential of its own, for the case that it is the first one. `port`
/// 0: nobody can connect to it. Addresses beyond kMostAddresses are left out.
Result<Offer> make_offer(std::string node, std::uint16_t port, std::vector<std::string> addresses);

/// Bytes that know their own length: those of several offers stand one after the other.
std::string bytes_of(const Offer& offer, bool with_credential);
/// Takes the first one off the bytes; nothing of what is none.
std::optional<Offer> take_offer(std::string_view* bytes);

/// Of the offers of all servers, for the one that has made the offer of this number.
Result<Meeting> meeting_of(std::string_view offers, std::uint64_t own);

}  // namespace leat::comm
