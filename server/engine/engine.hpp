// SPDX-License-Identifier: Apache-2.0
// The server of one session on one node, without a process of its own: no loop, no signals, no
// working folder, no exit. Who hosts it tells it what comes and what time it is, and calls step().
//
// One thread calls all of it, unless something else is said. It never waits for a client, a store
// or a script; several of them may live in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/node/output_folders.hpp"
#include "server/engine/attachment.hpp"
#include "server/engine/control_port.hpp"
#include "server/engine/dispatcher.hpp"
#include "server/engine/ending.hpp"
#include "server/engine/events.hpp"
#include "server/engine/host.hpp"
#include "server/engine/traced_engine.hpp"

namespace leat::server {

/// What an engine works on; everything in it is ready for use. What is referred to outlives it.
struct EngineParts {
  const model::Model& model;
  const shm::Segment& segment;
  RunFacts facts;  ///< resumed: the segment is that of a server that has died
  Host& host;
  std::shared_ptr<Log> log;
  Executor& executor;  ///< for all that goes on beside the steps
  std::string folder;  ///< that paths of output in the XML count from
  std::vector<std::unique_ptr<PluginInstance>> plugins{};
  std::string journal_path{};                       ///< "": none is kept
  std::string late_ranks_path{};                    ///< "": none is kept
  const node::SpillFolder* spill_folder = nullptr;  ///< null: none
  std::shared_ptr<Drains> drains{};                 ///< of what others have left on this node
  PieceRunner* lent_threads = nullptr;              ///< of the simulation; null: none
  JoiningParts joining{};
  bool check_overlaps = false;
  /// The segment's memory is there, or is taken when it is used: nothing takes it ahead.
  bool has_memory = false;
  std::shared_ptr<Trace> trace{};            ///< null: none is wanted
  std::unique_ptr<Derivation> derivation{};  ///< null: no variable is made of others
};

/// Where a run stands.
struct EngineStatus {
  bool all_gone = false;       ///< no client is left
  bool anything_open = false;  ///< an iteration that some client has yet to end
  bool anything_held = false;  ///< blocks are being read
  std::uint64_t used_bytes = 0;
};

class Engine {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  explicit Engine(EngineParts parts);

  /// Takes the ledger's name and writes it, so that also a run that is killed in its first moment
  /// has one. Of several servers of a run each does so when its first rank comes: without one it
  /// leaves what is there alone. Before start().
  void open_ledger();
  /// Starts what works beside the steps.
  void start();

  /// Does what there is to do. True when there was something, and the next step may have more.
  bool step(std::int64_t now_ns);
  /// When a step is to be taken although nobody wakes the host.
  std::int64_t next_deadline_ns() const noexcept;
  /// For hosts that look before they sleep: a step has something to do.
  bool has_work() noexcept { return session_.clients.any_speaks() || has_news(); }

  // What comes from the transport

  /// A process has come. When it is a client: its number, with which what comes of it is told to
  /// message().
  std::optional<std::uint32_t> hello(std::int64_t now_ns, const shm::Hello& hello,
                                     std::unique_ptr<shm::ToClient> connection);
  /// Something has come from this client beside its events, or it has hung up.
  void message(std::int64_t now_ns, std::uint32_t client);
  /// For those who watch and steer from outside.
  ControlPort& control() noexcept { return control_; }

  // The end

  /// drain() follows soon.
  void announce_end() noexcept { ending_.announce(); }
  /// Nothing more of any client is taken, by order of `who`; what they have handed over is stored.
  void drain(std::int64_t now_ns, const std::string& who);
  /// Scripts are not waited for any more.
  void abandon_scripts();
  /// Everything is stored and closed, or given up: no step follows.
  bool is_done() const noexcept { return dispatcher_.is_closed(); }
  /// When done: tells all clients. Returns the exit status of leatd.
  int finish(std::int64_t now_ns);

  EngineStatus status() const noexcept;
  bool is_closing() const noexcept { return ending_.is_closing(); }
  /// For memory.
  bool somebody_waits() const noexcept { return session_.memory.requests().somebody_waits(); }
  /// Stores or scripts are at work.
  bool is_storing() const noexcept { return dispatcher_.anything_held(); }

  // When facts.drained

  /// "", or why the segment must stay: nothing of it was stored.
  const std::string& why_given_up() const noexcept { return dispatcher_.why_given_up(); }
  /// What became of it, as JSON.
  std::string drained() const { return ending_.drained(); }

 private:
  bool has_news() const noexcept {
    return dispatcher_.has_news() || session_.memory.has_news() || session_.rounds.has_news() ||
           session_.joining.has_news() || session_.reductions.has_news() ||
           session_.turns.has_news();
  }
  void recover_old_run(const std::string& journal_path);
  void join_others();
  void look_whether_ranks_are_here();
  void meet(Joining::Met met);
  void take_outcomes();
  void leave_run();
  void tick();
  void look_for_dead_among_away();
  void steer_as_asked();
  void tend_scripts();
  void advance_rounds();

  SessionState session_;  // outlive the plugins, which read the ledger
  Dispatcher dispatcher_;
  Beginning beginning_;
  Failover failover_;
  Overflow overflow_;
  Placing placing_;
  Attachment attachment_;
  Events events_;
  Absence absence_;
  Ending ending_;
  ControlPort control_;
  Settling settling_;
  TracedEngine traced_;
  std::function<void()> wake_;
  bool has_memory_;
  std::set<std::string> refused_;  // what scripts asked to be steered in vain; said once
  std::int64_t ticked_ns_ = 0;
  std::int64_t waits_since_ns_ = 0;  // for memory
};

}  // namespace leat::server
