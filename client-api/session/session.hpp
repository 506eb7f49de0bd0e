// SPDX-License-Identifier: Apache-2.0
// One process' part in a run: everything behind the C API between leat_init and leat_finalize; the one session of the
// process, and what is left of Leat with LEAT=off.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "client-api/connect/ranks.hpp"
#include "client-api/connect/rendezvous.hpp"
#include "client-api/connect/split.hpp"
#include "client-api/session/block_writer.hpp"
#include "client-api/session/calls.hpp"
#include "client-api/session/channel.hpp"
#include "client-api/session/checkpoint_calls.hpp"
#include "client-api/session/failures.hpp"
#include "client-api/session/product_writer.hpp"
#include "client-api/session/undeclared.hpp"
#include "client-api/session/variable_table.hpp"
#include "lib/base/status.hpp"
#include "lib/os/clock.hpp"

namespace leat::client {

/// How long the rest of a run is waited for: begins anew whenever the server has made progress.
class ProgressBudget {
 public:
  ProgressBudget(const std::atomic<std::uint64_t>& progress, os::WaitBudget whole) noexcept
      : progress_(progress),
        whole_(whole),
        left_(whole),
        seen_(progress.load(std::memory_order_relaxed)) {}

  os::WaitBudget& left() noexcept {
    const std::uint64_t now = progress_.load(std::memory_order_relaxed);
    if (now != seen_) left_ = whole_;
    seen_ = now;
    return left_;
  }

 private:
  const std::atomic<std::uint64_t>& progress_;
  const os::WaitBudget whole_;
  os::WaitBudget left_;
  std::uint64_t seen_;
};

/// Member functions that return a status return that of the C call and have complained when it is
/// an error. They are called with the lock held, and let it go while they wait.
class Session {
 public:
  /// `since_ns`: when this rank began to come; see node::LateRanks.
  static Result<std::unique_ptr<Session>> open(const std::string& config, const Ranks& ranks,
                                               std::int64_t since_ns, bool was_split = false,
                                               bool meets = false);
  /// One of several ranks that this process stands for, as a staging node does. Its server is a process of its own.
  static Result<std::unique_ptr<Session>> open_one_of_several(const std::string& config,
                                                              const Ranks& ranks);

  /// Of one that is connected already, and has the segment mapped.
  static std::unique_ptr<Session> join(ServerStart start, Connection connection,
                                       shm::Segment segment);

  BlockWriter& blocks() noexcept { return blocks_; }
  /// Of a name that the XML may have or not.
  Status write_any(const Call& call, const char* name, const leat_array* array);
  /// Of an array whose extents are NULL.
  Status refuse_extents(const Call& call, const char* name) {
    return undeclared_.lose(call, name ? name : "",
                            {Status::ERROR_ARGUMENT, "the extents are NULL"});
  }
  ParameterCalls& parameters() noexcept { return parameters_; }
  MeshCalls& meshes() noexcept { return meshes_; }
  SignalCalls& signals() noexcept { return signals_; }
  IdlePhases& idle_phases() noexcept { return idle_phases_; }
  Collectives& collectives() noexcept { return collectives_; }
  CheckpointCalls& checkpoints() noexcept { return checkpoints_; }
  /// Goes on behind the checkpoint.
  Status restart_step(const Call& call, std::int64_t* iteration);
  Status end_iteration(const Call& call);
  /// Leaves all before `iteration` as they are: this rank had nothing in them.
  void go_to(std::int64_t iteration) {
    if (iteration > channel_.iteration()) enter(iteration);
  }
  /// As leat_start_at.
  Status start_at(const Call& call, std::int64_t iteration);
  /// As leat_begin_iteration.
  Status begin_iteration(const Call& call, std::int64_t iteration);
  std::int64_t iteration() const noexcept { return channel_.iteration(); }
  const Ranks& ranks() const noexcept { return start_.ranks; }
  /// What its server says of itself to others of the run.
  const ServerOffer& offer() const noexcept { return offer_; }
  /// Tells its server what all of them say.
  void introduce(std::string offers) noexcept {
    (void)channel_.events().introduce(std::move(offers));
  }
  // For staging nodes, which stand for ranks of other nodes.

  /// All ranks have left this iteration out.
  void leave_out(std::int64_t iteration) noexcept { (void)channel_.drop(iteration); }
  Failures& failures() noexcept { return failures_; }
  ProductWriter& products() noexcept { return products_; }
  /// All iterations up to this one are through all stores.
  std::int64_t stored_until() const noexcept {
    return segment_.server_state().done_iteration.load(std::memory_order_acquire);
  }

  /// Waits for that, for as long as a call may wait; ERROR_FULL: it is not so yet. An iteration that was dropped counts as stored.
  Status await_stored(const Call& call, std::int64_t iteration);

  /// A number that grows while the server gets anything done.
  std::uint64_t progress() const noexcept {
    return segment_.server_state().progress.load(std::memory_order_relaxed);
  }

  bool hosts_server() const noexcept { return own_.hosted != nullptr; }

  /// Tells the server that this client is done. Nothing else may be called afterwards but
  /// await_drained.
  void detach(const Call& call) noexcept;
  /// Waits until the server has stored everything; no lock is needed.
  Status await_drained(const char* call_name);

  /// In a child that was forked: lets go of all that tells the server that this rank lives. Nothing
  /// else may be called afterwards.
  void leave_to_parent() noexcept;
  /// In a process that ends without leat_finalize: the same, and waits for a server that is in it.
  void leave_at_exit() noexcept;

 private:
  Session(ServerStart start, Connection connection, shm::Segment segment);
  static Result<std::unique_ptr<Session>> open_with(ServerStart start, bool is_one_of_several);
  static Result<shm::Segment> take_place(const std::string& name, std::uint32_t place,
                                         bool is_one_of_several);
  Result<Connection> find_successor(const AskForHeld& ask_for_held, std::int64_t limit_ns) noexcept;
  bool has_anything() const noexcept {
    return blocks_.wrote_since_end() || signals_.any_since_end() || undeclared_.any_since_end();
  }
  /// Something of this iteration besides what does not vary in time.
  bool has_varying() const noexcept {
    return blocks_.wrote_varying() || signals_.any_since_end() || undeclared_.any_since_end();
  }
  /// What was written so far keeps this rank from another first iteration.
  bool has_chosen_first() const noexcept { return has_begun_ || has_varying(); }
  /// A call that says a number. What is written from now on, until one is taken, is under another one than the code means; not where
  /// it `is_right`: the one that this rank is in.
  Status refuse_number(const Call& call, const std::string& why, bool is_right = false,
                       Status status = Status::ERROR_STATE);
  /// A number is taken, or none comes any more.
  void settle_refused();
  /// Grows with all that is written, set or signalled; only to be compared while no number is taken.
  std::int64_t sent_without_ends() noexcept {
    return static_cast<std::int64_t>(channel_.events().sent()) - channel_.iteration();
  }
  Status expect_number(const Call& call, const char* what, std::int64_t iteration);
  /// Goes there, and says so to the server.
  Status jump(const Call& call, std::int64_t iteration);
  /// This rank is in `iteration` from now on: takes the values that are steered from it on.
  void enter(std::int64_t iteration, bool has_constants = false);
  bool is_automatic() const noexcept;
  /// As mode says.
  Status end(const Call& call);
  Status end_traced(const Call& call);
  bool must_wait() const noexcept;
  Status await_settled(const Call& call, std::int64_t iteration);
  ProgressBudget progress_budget() const noexcept {
    return {segment_.server_state().progress, channel_.budget()};
  }
  void count_late();
  Status end_of_drain(const char* call_name, const std::string& says, Status server_status,
                      bool speaks);

  ServerStart start_;
  OwnServer own_;
  ServerOffer offer_;
  std::uint32_t place_;  // among the ranks of its server
  shm::Segment segment_;
  Channel channel_;
  VariableTable variables_;
  Failures failures_;
  BlockWriter blocks_;
  ProductWriter products_;
  UndeclaredWriter undeclared_;
  ParameterCalls parameters_;
  MeshCalls meshes_;
  SignalCalls signals_;
  IdlePhases idle_phases_;
  Collectives collectives_;
  bool has_begun_ = false;   // an iteration was ended, or its first one said
  std::string refused_;      // the last call that was, and why
  std::string misnumbered_;  // the first that something was written behind
  std::int64_t sent_when_refused_ = 0;
  CheckpointCalls checkpoints_;
};

// The one session of this process, and what becomes of it in a child that is forked.

/// The last leat_init, when it has failed, and what the program has called since.
struct FailedInit {
  std::string call, why;  ///< call "": it has not failed
  bool speaks = false;    ///< for the other ranks, too
  int pid = 0;
  std::uint64_t calls = 0, writes = 0;
  bool is_told = false;
};

struct Handle {
  std::mutex mutex;
  std::condition_variable idle;
  std::unique_ptr<Session> session;
  std::atomic<std::thread::id> opener{};  ///< the thread that has opened it, or the one before
  int busy = 0;  ///< calls in progress, some of them waiting or copying without the lock
  bool awaits_idle = false;
  bool opening = false;
  bool was_finalized = false;
  FailedInit failed_init;
  bool was_open = false;  ///< some session of this process was
  Split split;
  int parent = 0;  ///< not 0: forked from that process, which has a session; this one never has
};

/// A call in progress; made and destroyed with the lock held.
class BusyMark {
 public:
  explicit BusyMark(Handle& the) : the_(the) { ++the_.busy; }
  ~BusyMark() {
    if (--the_.busy == 0 && the_.awaits_idle) the_.idle.notify_all();
  }

 private:
  Handle& the_;
};

/// Null until handle() was called, and so for good where Leat is switched off.
inline constinit std::atomic<Handle*> used_handle{nullptr};

/// Made at the first call. Never destroyed: a thread may still be in a call when the process ends.
Handle& handle();

/// From here on a child that is forked while a session is open has a handle of its own, and lets go
/// of what tells the server that this process lives. False when memory is out.
bool notices_forks() noexcept;

/// "", or that nothing of the run was stored, when the program has gone on after a leat_init that has failed. Printed by the
/// first call. With the lock held.
std::string tell_unstored(Handle& the, const std::string& prefix);

/// With a server in this process: when it exits without leat_finalize, the server has stored first
/// what was handed over. After a leat_init that has failed: says what is not stored. For what is loaded until now.
void notice_exit() noexcept;

/// LEAT=off in the environment, when first asked.
bool is_switched_off() noexcept;

/// leat_alloc and leat_commit then; `function` is the call's name for messages.
Status alloc_without_server(const char* function, const char* variable, std::uint32_t block,
                            void** data) noexcept;
Status commit_without_server(const char* variable, std::uint32_t block) noexcept;

}  // namespace leat::client
