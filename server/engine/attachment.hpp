// SPDX-License-Identifier: Apache-2.0
// Clients coming and going, and ranks that have yet to attach.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/node/runtime_folder.hpp"
#include "server/engine/failover.hpp"
#include "server/engine/host.hpp"
#include "server/engine/overflow.hpp"
#include "server/engine/placing.hpp"
#include "server/state/ledger/report_book.hpp"

namespace leat::server {

// Clients coming and going, and what they report of themselves meanwhile. Private to the engine's
// thread.
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
  void log_reports(bool all);
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
  void write_late_ranks() const;

 private:
  void other_came(const shm::Hello& hello);
  void take(ClientLink& client, const shm::Hello& hello, std::unique_ptr<shm::ToClient> connection);
  std::int32_t number_on_node(std::uint32_t index) const noexcept {
    return session_.run.facts.first_on_node + static_cast<std::int32_t>(index);
  }
  std::string why_refused(const shm::Hello& hello) const;
  std::string why_too_late(const shm::Hello& hello) const;

  SessionState& session_;
  Dispatcher& dispatcher_;
  Overflow& overflow_;
  Failover& failover_;
  Placing& placing_;
  Host& host_;
  ReportBook reports_;
  std::string late_path_;
  node::LateRanks late_ranks_;  // of runs of this name before this one
};

// Ranks that have yet to attach. They may be slow, be killed or be stopped on their way, and nobody
// can tell. The others' iterations stay open for them, as long as that costs nobody anything; once
// it does, they are waited for a while, once in the run, and then given up for good: the ledger
// says so, and so does leat_init to who comes later. Private to the engine's thread.
class Absence {
 public:
  Absence(SessionState& session, Dispatcher& dispatcher, Overflow& overflow, Attachment& attachment,
          Placing& placing);

  /// To be called often as long as ranks are expected.
  void look();

 private:
  bool any_expected() const noexcept;
  bool hurts() const;
  bool ends_are_waited_for() const noexcept;
  std::int64_t limit_ns() const noexcept;

  SessionState& session_;
  Dispatcher& dispatcher_;
  Overflow& overflow_;
  Attachment& attachment_;
  Placing& placing_;
  // How long others have waited for what ranks that have yet to attach keep from them.
  std::int64_t hurt_ns_ = 0, seen_ns_ = 0;
};

}  // namespace leat::server
