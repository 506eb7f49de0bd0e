// SPDX-License-Identifier: Apache-2.0
#include "server/workers/graph/host_door.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "lib/comm/addresses.hpp"
#include "lib/os/process.hpp"
#include "lib/staging/cards.hpp"

namespace leat::server {
namespace {

// By this one a tunnel of ssh comes in.
constexpr const char* kLoopback = "127.0.0.1";

}  // namespace

HostDoor::~HostDoor() {
  const std::optional<comm::Offer> there = staging::card_named(folder_, name_);
  if (there && there->number == offer_.number) ::unlink((folder_ + "/" + name_ + ".card").c_str());
  ::rmdir(folder_.c_str());  // when this was the last one
}

std::vector<int> HostDoor::sockets() const {
  std::vector<int> all;
  for (const os::UniqueFd& each : listening_.sockets) all.push_back(each.get());
  return all;
}

HostDoors::HostDoors(std::string simulation, std::string interface, bool resumed)
    : interface_(std::move(interface)), resumed_(resumed) {
  std::error_code error;
  folder_ = std::filesystem::absolute(staging::folder_of_hosts(simulation), error).string();
}

Result<std::shared_ptr<const HostDoor>> HostDoors::door(const std::string& host, int server) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string name = server == 0 ? host : host + "." + std::to_string(server);
  if (const auto known = doors_.find(name); known != doors_.end()) return known->second;
  Result<std::shared_ptr<const HostDoor>> made = open(name);
  if (made) doors_[name] = *made;
  return made;
}

Result<std::shared_ptr<const HostDoor>> HostDoors::open(const std::string& name) const {
  Result<std::vector<std::string>> addresses = comm::addresses_of_node(interface_);
  if (!addresses) return addresses.error();
  if (std::find(addresses->begin(), addresses->end(), kLoopback) == addresses->end())
    addresses->push_back(kLoopback);
  if (addresses->size() > comm::kMostAddresses)
    addresses->erase(addresses->begin(), addresses->end() - comm::kMostAddresses);
  std::optional<comm::Offer> before;
  if (resumed_) before = staging::card_named(folder_, name);
  Result<comm::Listening> listening = comm::listen_at(*addresses, before ? before->card.port : 0);
  if (!listening && before) {
    before.reset();
    listening = comm::listen_at(*addresses);
  }
  if (!listening) return listening.error();
  Result<comm::Offer> offer = comm::make_offer(os::node_name(), listening->port, *addresses);
  if (!offer) return offer.error();
  if (before) offer->credential = before->credential;
  if (const std::string why = staging::write_card(folder_, name, *offer); !why.empty())
    return Error{Status::ERROR_SYSTEM, why};
  return std::make_shared<const HostDoor>(folder_, name, *offer, std::move(*listening));
}

}  // namespace leat::server
