// SPDX-License-Identifier: Apache-2.0
// Recovery where a server has died. Everything is taken from words that the dead server had written in one step each,
// from the headers of blocks, and from the journal of the session; docs/design/failover.md says why that is enough,
// wherever the other was killed. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "server/engine/beginning.hpp"
#include "server/engine/dispatcher.hpp"
#include "server/engine/session_state.hpp"

namespace leat::server {

class Failover {
 public:
  Failover(SessionState& session, Dispatcher& dispatcher, Beginning& beginning)
      : session_(session),
        dispatcher_(dispatcher),
        beginning_(beginning),
        spiller_(dispatcher.spiller()) {}

  /// An error when servers of this segment die one after the other.
  static Result<void> may_take_over(const shm::Segment& segment);

  /// The segment and the journal at `path` are those of a server that has died.
  void take_over(const std::string& journal_path);
  /// A client that was attached to the dead server has come.
  void come_back(const shm::Hello& hello, std::unique_ptr<shm::ToClient> connection);
  /// Rewrites the journal, when it has grown long or is broken.
  void tend_journal();

 private:
  void apply(const JournalRecord& record);
  void take_store(const std::string& store, shm::StoreWords& words);
  void report_scripts();
  void take_clients();
  void take_dropped();
  void take_leases();
  std::vector<std::vector<shm::FoundBlock>> adopt_leases();
  void take_blocks(std::uint32_t client, std::vector<shm::FoundBlock> found);
  void adopt_block(std::uint32_t client, const shm::FoundBlock& found);
  void adopt_products(std::uint32_t client, const shm::Event& event, std::uint64_t lease);
  std::optional<Block> read_waiting(std::uint32_t client, const shm::Event& event);
  void take_back_offers();
  void take_spilled();
  void adopt_spilled(std::int64_t iteration, const Block& block);
  bool makes_sense(const SpillRecord& record) const;
  void journal_is_gone();
  void nobody_knows_of(const ClientLink& client);
  void add(std::int64_t iteration, const Block& block);
  void rewrite_journal();
  std::size_t blocks_in(std::uint32_t client, const shm::Region& region) const;
  std::int64_t done() const noexcept;

  SessionState& session_;
  Dispatcher& dispatcher_;
  Beginning& beginning_;
  Spiller& spiller_;
  std::string journal_path_;
  std::vector<SpillRecord> spilled_;  // of the journal, until they are taken over
  std::uint64_t adopted_ = 0;         // blocks
};

}  // namespace leat::server
