// SPDX-License-Identifier: Apache-2.0
// What clients say in their rings, and what follows from it. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/engine/attachment.hpp"
#include "server/engine/beginning.hpp"
#include "server/engine/failover.hpp"
#include "server/engine/overflow.hpp"

namespace leat::server {

class Events {
 public:
  Events(SessionState& session, Dispatcher& dispatcher, Overflow& overflow, Attachment& attachment,
         Beginning& beginning);

  /// What all have said since the last call; of each so much that the others get their turn. True
  /// when there was something.
  bool take_all();
  /// The client's connection is closed: what it pushed before it died counts.
  void hung_up(std::uint32_t index);
  /// The run is drained: what the client has pushed so far counts, and nothing after.
  void cut_off(std::uint32_t index) { take_rest(index, ClientLink::Phase::cut_off); }
  /// Puts into the ledger what a client that was cut off has handed over since.
  void count_late(std::uint32_t index);

 private:
  void take_rest(std::uint32_t index, ClientLink::Phase then);
  bool take(std::uint32_t index, int most);
  void handle(std::uint32_t index, const shm::Event& event);
  void on_block(std::uint32_t index, const shm::Event& event);
  std::optional<Block> read(std::uint32_t index, const shm::Event& event, std::string* error);
  void refuse_block(std::uint32_t index, const shm::Event& event, const std::string& error);
  void on_end_iteration(std::uint32_t index, const shm::Event& event);
  void on_start_at(std::uint32_t index, const shm::Event& event);
  void on_lease_request(std::uint32_t index, const shm::Event& event);
  void on_text(std::uint32_t index, const shm::Event& event);
  void on_value(std::uint32_t index, std::uint32_t parameter, ParameterValue value);
  void on_lost(std::uint32_t index, const shm::Event& event);
  void on_forgo(std::uint32_t index, const shm::Event& event);
  void on_signal(std::uint32_t index, const shm::Event& event);
  void on_products(std::uint32_t index, const shm::Event& event);
  void end_all_before(std::uint32_t index, std::int64_t iteration);
  bool may_come_before_first(std::uint32_t index, const shm::Event& event) const;
  bool enters(std::uint32_t index, std::int64_t iteration, std::string* error);

  SessionState& session_;
  Dispatcher& dispatcher_;
  Overflow& overflow_;
  Attachment& attachment_;
  Beginning& beginning_;
  bool reduces_over_run_;  // what servers make of their variables together
};

}  // namespace leat::server
