// SPDX-License-Identifier: Apache-2.0
// Where another host comes in that has modules of the graph: sockets that listen, and the card by which they are found.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/comm/listening.hpp"
#include "lib/comm/meeting.hpp"

namespace leat::server {

/// Of one host. All modules there come in by it, each by a connection of its own.
class HostDoor {
 public:
  HostDoor(std::string folder, std::string name, comm::Offer offer, comm::Listening listening)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        offer_(std::move(offer)),
        listening_(std::move(listening)) {}
  HostDoor(const HostDoor&) = delete;
  /// Takes the card away, unless another run has put its own there.
  ~HostDoor();

  std::vector<int> sockets() const;
  const std::string& credential() const noexcept { return offer_.credential; }

 private:
  std::string folder_, name_;
  comm::Offer offer_;
  comm::Listening listening_;
};

/// From any thread.
class HostDoors {
 public:
  /// `interface`: as <network> says. `resumed`: whoever has the card of the server before this one finds this one by it.
  HostDoors(std::string simulation, std::string interface, bool resumed);

  /// Made when it is asked for first. `server`: number of this one among those of the run.
  Result<std::shared_ptr<const HostDoor>> door(const std::string& host, int server);

 private:
  Result<std::shared_ptr<const HostDoor>> open(const std::string& name) const;

  std::string folder_, interface_;
  bool resumed_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const HostDoor>> doors_;  // by name of the card
};

}  // namespace leat::server
