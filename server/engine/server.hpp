// SPDX-License-Identifier: Apache-2.0
// The event loop: attaches clients, takes their events, leases memory, passes complete iterations
// to the pipeline, and ends when the last client has. One thread; it never waits for a client or
// for a plugin.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/platform/late_ranks.hpp"
#include "lib/platform/placement.hpp"
#include "lib/platform/spill_folder.hpp"
#include "lib/platform/unique_fd.hpp"
#include "lib/shm/segment.hpp"
#include "server/failover/drains.hpp"
#include "server/failover/session_journal.hpp"
#include "server/ledger/ledger.hpp"
#include "server/ledger/ledger_file.hpp"
#include "server/ledger/report_book.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/scripts/script_pool.hpp"
#include "server/session/block_holds.hpp"
#include "server/session/client_link.hpp"
#include "server/session/lease_book.hpp"
#include "server/session/offers.hpp"
#include "server/session/parameter_log.hpp"
#include "server/session/populator.hpp"
#include "server/session/steering.hpp"
#include "server/spill/spiller.hpp"

namespace leat::server {

/// What the loop works on; everything in it is ready for use.
struct ServerParts {
  const model::Model& model;
  const shm::Segment& segment;
  RunFacts facts;
  std::string socket_path;
  std::string journal_path;  ///< "": none is kept
  platform::UniqueFd listener;
  std::vector<std::unique_ptr<PluginInstance>> plugins;
  platform::Machine machine;
  std::shared_ptr<spdlog::logger> log;
  const platform::SpillFolder* spill_folder = nullptr;  ///< outlives the server; null: none
  std::string late_ranks{};  ///< file in which it is noted who has not come; "": none is kept
  std::shared_ptr<Drains> drains{};  ///< of what others have left on this node
};

class Server {
 public:
  /// With facts.resumed the segment is that of a server that has died.
  explicit Server(ServerParts parts);
  /// An error when servers of this segment die one after the other.
  static Result<void> may_take_over(const shm::Segment& segment);

  /// Takes the ledger's name and writes it, so that also a run that is killed in its first moment
  /// has one. Before run().
  void open_ledger();
  /// Runs until all clients are gone and everything is stored. Returns the exit status of leatd.
  int run();

  // When facts.drained

  /// "", or why the segment must stay: nothing of it was stored.
  const std::string& why_given_up() const noexcept { return given_up_; }
  /// What became of it, as JSON.
  std::string drained() const;

 private:
  friend class DrivenServer;  // tests/fuzz: the same steps, without the loop

  // Set-up and waiting
  ScriptPoolParts script_parts();
  ArrayChecks::Wanted checks_wanted() const;
  SpillerParts spiller_parts(const platform::SpillFolder* folder);
  void watch(int fd) noexcept;
  void sleep() noexcept;
  bool may_spin() const noexcept;
  bool spin() noexcept;
  bool nap() noexcept;
  bool somebody_speaks() noexcept;
  bool has_news() const noexcept {
    return pipeline_.has_results() || holds_.any_returned() || populator_.has_news();
  }
  void look_around(int limit_ms);
  int sleep_limit_ms() const noexcept;
  void on_wakeup(int fd);

  // Clients coming and going
  void accept_clients();
  void greet(platform::UniqueFd connection);
  std::string why_refused(const shm::Hello& hello) const;
  void client_hung_up(ClientLink& client);
  bool take_reports(ClientLink& client);
  void say_reports(bool all);
  void client_left(std::uint32_t index, ClientLink::Phase how);
  void forget_client(std::uint32_t index, bool died);
  // Ranks that have yet to attach (server_absent.cpp)
  void give_up_on_absent();
  bool absence_hurts() const;
  std::int64_t absence_limit_ns() const noexcept;
  void never_came(std::uint32_t index);
  bool is_expected(const ClientLink& client) const noexcept;
  bool is_expected_before(std::int64_t iteration) const;
  void note_late_ranks() const;
  std::string name_of_rank(std::uint32_t index) const;
  void start_stores();
  bool all_have_attached() const noexcept;
  void stop_on_signal();
  void watch_grace();
  void take_no_more();

  // Storing what a session has left of which everything was killed (server_drain.cpp)
  void end_all_clients();
  bool may_store() const noexcept;
  void stores_opened(const PipelineResult& result);
  void hurry_drains();
  void say_drained();

  // Taking over from a server that has died
  void take_over();
  void take_over_clients();
  void take_over_leases();
  void take_back_offers();
  void take_over_spilled();
  bool makes_sense(const SpillRecord& record) const;
  void journal_is_gone();
  void adopt_spilled(std::int64_t iteration, const Block& block);
  void take_over_dropped();
  bool hold_spilled(Iteration* iteration);
  void adopt_block(std::uint32_t index, const shm::FoundBlock& found);
  void come_back(const shm::Hello& hello, platform::UniqueFd connection);
  std::size_t blocks_in(std::uint32_t index, const shm::Extent& extent) const;
  void look_for_dead_among_away();
  bool somebody_is_away() const noexcept;
  void take_journal_entry(const nlohmann::json& entry);
  void write_journal_anew();
  void note_loss(const std::string& line);

  // Events
  bool take_all_events();
  bool take_events(std::uint32_t index, int most);
  void take_last_events(std::uint32_t index);
  void handle(std::uint32_t index, const shm::Event& event);
  void on_block(std::uint32_t index, const shm::Event& event);
  void on_lease_request(std::uint32_t index, const shm::Event& event);
  void on_text(std::uint32_t index, const shm::Event& event);
  void on_lost(std::uint32_t index, const shm::Event& event);
  void on_forgo(std::uint32_t index, const shm::Event& event);
  void on_seal(std::uint32_t index, const shm::Event& event);
  void count_untold(std::uint32_t index);
  bool is_number(std::uint32_t index, std::int64_t iteration);
  void end_all_before(std::uint32_t index, std::int64_t iteration);
  bool enters(std::uint32_t index, std::int64_t iteration, std::string* error);
  void set_parameter(std::uint32_t index, std::uint32_t parameter, ParameterValue value);
  void first_rank_ended(std::int64_t iteration);
  void complain(std::uint32_t index, const std::string& what);

  // Iterations and memory
  void pass_on_complete();
  void take_results();
  void note_done(const PipelineResult& result) noexcept;
  void report(const BlockProblem& problem, std::int64_t iteration);
  void report(const std::vector<Finding>& findings);
  void take_returned_blocks();
  void release(const Block& block);
  void serve_requests();
  void give_leases();
  // Memory that is yet to be taken from the system
  void start_populating();
  // Where all of it is (server_placement.cpp)
  bool has_memory_nodes() const;
  void place_when_known();
  void place_myself();
  void bind_memory(const platform::MemoryPlacement& memory, const std::vector<std::uint32_t>& here);
  void populate_in_background();
  int take_memory(shm::Extent slice) const;
  void take_populated();
  bool populate_for_waiting();
  void refuse(const LeaseRequest& request, shm::RefusalReason reason, std::int64_t iteration);
  std::int64_t oldest_unfinished() const noexcept;
  void say_who_waits();
  std::string who_holds_memory(const LeaseRequest& request) const;
  void steer();

  // When memory has run out (when_full.cpp)
  bool drops() const noexcept;
  bool make_room();
  void give_up(const LeaseRequest& hopeless);
  void answer_dropped(const LeaseRequest& request);
  void refuse_at_once(const LeaseRequest& request);
  bool drop_waiting(const LeaseRequest& request);
  void on_drop(std::uint32_t index, const shm::Event& event);
  void drop_open(std::int64_t iteration, const std::string& why);
  void note_dropped(std::int64_t iteration, const std::string& why);
  std::string what_was_left_out() const;

  // The end
  bool all_gone() const noexcept;
  void close_when_drained();
  void say_farewell();
  std::string finish_ledger();
  std::string last_line() const;
  void note_scripts();
  void made_progress() noexcept;

  const model::Model& model_;
  const shm::Segment& segment_;
  RunFacts facts_;
  std::string socket_path_, journal_path_, late_ranks_path_;
  platform::LateRanks late_ranks_;  // of runs of this name before this one
  platform::Machine machine_;
  std::shared_ptr<spdlog::logger> log_;
  platform::UniqueFd listener_, epoll_, doorbell_, results_bell_, signals_;
  std::vector<platform::UniqueFd> greeting_;  // connected, Hello not yet come
  std::vector<ClientLink> clients_;
  IterationTracker iterations_;
  shm::LeaseTable lease_table_;
  LeaseBook leases_;
  Offers offers_;
  Populator populator_;
  Steering steering_;
  Ledger ledger_;
  LedgerFile ledger_file_;  // outlives the plugins, which read it
  Pipeline pipeline_;
  Spiller spiller_;
  platform::Placement placement_;
  BlockHolds holds_;
  std::multiset<std::int64_t> held_;  // numbers of iterations whose blocks are being read
  ReportBook reports_;
  ScriptPool scripts_;
  ParameterLog parameters_;
  SessionJournal journal_;
  std::vector<std::string> losses_;         // lines of the ledger, for the journal
  std::set<std::int64_t> dropped_;          // iterations that were left out
  std::vector<SpillRecord> spill_records_;  // of the journal, until they are taken over
  // How long others have waited for what ranks that have yet to attach keep from them.
  std::int64_t hurt_ns_ = 0, hurt_seen_ns_ = 0;
  bool refused_for_absent_ = false;
  std::uint64_t adopted_blocks_ = 0;
  std::int64_t last_event_ns_ = 0;
  std::int64_t pressed_since_ns_ = 0;  // the stores are awaited by a rank that needs memory; 0: not
  // After SIGTERM: when nothing more is taken, and when scripts are not waited for any more. 0:
  // none.
  std::int64_t take_until_ns_ = 0, scripts_until_ns_ = 0;
  std::uint64_t script_trouble_ = 0;  // that the ledger knows of
  std::shared_ptr<Drains> drains_;    // of others
  std::string given_up_;
  bool stores_open_ = false;
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace leat::server
