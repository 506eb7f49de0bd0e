// SPDX-License-Identifier: Apache-2.0
#include "server/driver/meeting_others.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lib/comm/addresses.hpp"
#include "server/state/journal/names.hpp"
#include "server/state/journal/session_journal.hpp"

namespace leat::server {
namespace {

using model::Carrier;

// Of a server that has died.
std::optional<comm::Offer> offer_in(const std::string& journal) {
  std::optional<comm::Offer> offer;
  for (const JournalRecord& record : SessionJournal::read(journal)) {
    const auto* const met = std::get_if<ServersMet>(&record);
    if (!met) continue;
    std::string_view bytes = met->own;
    offer = comm::take_offer(&bytes);
  }
  return offer;
}

// In the midst of a run the server goes on without the network, and says so.
Result<std::vector<std::string>> own_addresses(const model::NetworkFields& network, bool resumed,
                                               Log& log) {
  if (network.carrier == Carrier::folder) return std::vector<std::string>();
  Result<std::vector<std::string>> addresses = comm::addresses_of_node(network.interface);
  if (!addresses && addresses.error().status == Status::ERROR_CONFIG && !resumed)
    return Error{Status::ERROR_CONFIG,
                 "<network interface=\"...\">, or LEAT_INTERFACE: " + addresses.error().message};
  if (!addresses) log.error("other servers cannot reach this one: {}", addresses.error().message);
  if (addresses && addresses->empty() && network.carrier == Carrier::tcp)
    log.warn("other servers cannot reach this one: this node has no address but its loopback");
  return addresses ? *addresses : std::vector<std::string>();
}

}  // namespace

Result<JoiningParts> prepare_joining(const model::Model& model, const RunFacts& facts,
                                     const std::string& journal, Log& log) {
  const model::NetworkFields& network = model.architecture.network;
  JoiningParts parts;
  if (facts.has_all_ranks() || facts.succession > 1) return parts;
  parts.folder = comm::folder_of_meeting(".", model.name, facts.run_session);
  if (facts.drained) parts.why_alone = "they are gone, and what it had in memory is stored now";
  if (facts.drained || network.carrier == Carrier::none) return parts;
  const Result<std::vector<std::string>> addresses = own_addresses(network, facts.resumed, log);
  if (!addresses) return addresses.error();
  const std::optional<comm::Offer> old = facts.resumed ? offer_in(journal) : std::nullopt;
  const std::vector<std::string>& where = old ? old->card.addresses : *addresses;
  if (!where.empty()) {
    Result<comm::Listening> listening = comm::listen_at(where, old ? old->card.port : 0);
    if (!listening)
      log.error("other servers cannot reach this one: {}", listening.error().message);
    else
      parts.listening = std::move(*listening);
  }
  const bool listens = !parts.listening.sockets.empty();
  Result<comm::Offer> offer =
      old ? Result<comm::Offer>(*old)
          : comm::make_offer(own_node_name(facts), parts.listening.port,
                             listens ? *addresses : std::vector<std::string>());
  if (offer) parts.own = std::move(*offer);
  if (!offer) parts.why_alone = offer.error().message;
  return parts;
}

}  // namespace leat::server
