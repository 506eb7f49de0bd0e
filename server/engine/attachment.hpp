// SPDX-License-Identifier: Apache-2.0
// Clients coming and going, and what they report of themselves meanwhile. Private to the engine's
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/platform/late_ranks.hpp"
#include "server/engine/host.hpp"
#include "server/engine/overflow.hpp"
#include "server/engine/placing.hpp"
#include "server/failover/failover.hpp"
#include "server/ledger/report_book.hpp"

namespace leat::server {

class Attachment {
 public:
  /// `late_ranks`: path of a file in which it is noted who has not come; "": none is kept.
  Attachment(SessionState& session, Dispatcher& dispatcher, Overflow& overflow, Failover& failover,
             Placing& placing, Host& host, std::string late_ranks);

  /// A process has come. Its number, when it is a client from now on.
  std::optional<std::uint32_t> hello(shm::Hello hello, std::unique_ptr<shm::ToClient> connection);
  /// Takes what has come of this client beside its events. False when it has hung up.
  bool take_reports(std::uint32_t index);
  /// Why a write of this client failed: its report of this number; "" when there is none.
  std::string why(std::uint32_t index, std::uint32_t number);
  /// Says what is to be said of reports now; `all`: without waiting for other ranks.
  void say_reports(bool all);
  bool has_reports() const noexcept { return reports_.has_waiting(); }

  /// It has ended, well or not.
  void left(std::uint32_t index, ClientLink::Phase how);
  /// Puts writes into the ledger that failed at it and of which it has not told.
  void count_untold(std::uint32_t index);
  /// It is given up.
  void never_came(std::uint32_t index);
  /// The same of ranks that other servers of the node serve.
  void others_never_came();
  /// Nothing comes from it any more.
  void forget(std::uint32_t index, bool died);
  /// Those who come now learn that they are too late.
  void note_late_ranks() const;

 private:
  void other_came(const shm::Hello& hello);
  void take(ClientLink& client, const shm::Hello& hello, std::unique_ptr<shm::ToClient> connection);
  std::int32_t number_on_node(std::uint32_t index) const noexcept {
    return run_.facts.first_on_node + static_cast<std::int32_t>(index);
  }
  std::string why_refused(const shm::Hello& hello) const;
  std::string why_too_late(const shm::Hello& hello) const;

  SessionState& session_;
  const Run& run_;
  Clients& clients_;
  Dispatcher& dispatcher_;
  Overflow& overflow_;
  Failover& failover_;
  Placing& placing_;
  Host& host_;
  ReportBook reports_;
  std::string late_path_;
  platform::LateRanks late_ranks_;  // of runs of this name before this one
};

}  // namespace leat::server
