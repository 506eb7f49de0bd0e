// SPDX-License-Identifier: Apache-2.0
// How servers of the simulation find staging nodes: each of these leaves a card in a folder beside the output. So do servers, for
// modules of graphs on other hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/status.hpp"
#include "lib/comm/meeting.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::staging {

// A card is a secret: who has it is of the run.

/// "heat.hosts" in the folder that the run works in: cards of servers, for modules on other hosts.
std::string folder_of_hosts(const std::string& simulation);
/// `name`: "desk". Nothing where it has none.
std::optional<comm::Offer> card_named(const std::string& folder, const std::string& name);
/// "" or why it cannot be written.
std::string write_card(const std::string& folder, const std::string& name,
                       const comm::Offer& offer);

// Of staging nodes.

/// "heat.staging" in the folder that the run works in.
std::string folder_of_cards(const std::string& simulation);

/// The card of the staging node with this number, from 0; nothing while it has none.
std::optional<comm::Offer> card_of(const std::string& folder, std::int64_t number);

/// Nobody is the staging node with this number, as far as locks can tell.
bool has_ended(const std::string& folder, std::int64_t number);

/// All of them: who has left one knows by that that nobody comes any more.
void remove_cards(const std::string& folder);

// A number that no other staging node of this simulation has while this one lives, and its card.
class OwnCard {
 public:
  /// `wanted`: -1 for the lowest that is free. An error when all `count` are taken, or that one is.
  static Result<OwnCard> take(const std::string& folder, std::int64_t count, std::int64_t wanted);
  OwnCard(OwnCard&&) = default;
  OwnCard& operator=(OwnCard&&) = default;
  /// Takes the card away.
  ~OwnCard();

  std::int64_t number() const noexcept { return number_; }
  /// Somebody has removed it.
  bool is_gone() const;
  /// From here on others find it. "" or why it cannot be written.
  std::string publish(const comm::Offer& offer) const;

 private:
  OwnCard(std::string folder, std::int64_t number, os::UniqueFd lock);

  std::string folder_;
  std::int64_t number_ = 0;
  os::UniqueFd lock_;
};

}  // namespace leat::staging
