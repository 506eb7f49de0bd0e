// SPDX-License-Identifier: Apache-2.0
// How often each rank of this server has signalled which event. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/session/clients.hpp"

namespace leat::server {

class CallCounts {
 public:
  CallCounts(std::size_t events, const Clients& clients);

  void add(std::size_t event, std::uint32_t client, std::uint32_t times) {
    counts_[event][client] += times;
  }
  std::size_t events() const noexcept { return counts_.size(); }
  /// As often as all have that can; -1: none can.
  std::int64_t least(std::size_t event) const;
  /// As often as one of them.
  std::int64_t most(std::size_t event) const;
  /// Who has more often than who.
  std::string difference(std::size_t event) const;

  nlohmann::json in_words() const;
  void take_words(const nlohmann::json& words);

 private:
  const Clients& clients_;
  std::vector<std::vector<std::int64_t>> counts_;  // by event and client
};

}  // namespace leat::server
