// SPDX-License-Identifier: Apache-2.0
// One process' part in a run: everything behind the C API between leat_init and leat_finalize.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "client-api/block_writer.hpp"
#include "client-api/channel.hpp"
#include "client-api/collectives.hpp"
#include "client-api/failures.hpp"
#include "client-api/idle_phases.hpp"
#include "client-api/launcher.hpp"
#include "client-api/mesh_calls.hpp"
#include "client-api/parameter_calls.hpp"
#include "client-api/progress_budget.hpp"
#include "client-api/rendezvous.hpp"
#include "client-api/signal_calls.hpp"
#include "client-api/variable_table.hpp"

namespace leat::client {

/// Member functions that return a status return that of the C call and have complained when it is
/// an error. They are called with the lock held, and let it go while they wait.
class Session {
 public:
  /// `since_ns`: when this rank began to come; see platform::LateRanks.
  static Result<std::unique_ptr<Session>> open(const std::string& config, const Ranks& ranks,
                                               std::int64_t since_ns, bool was_split = false);

  /// Of one that is connected already, and has the segment mapped.
  static std::unique_ptr<Session> join(ServerStart start, Connection connection,
                                       shm::Segment segment);

  BlockWriter& blocks() noexcept { return blocks_; }
  ParameterCalls& parameters() noexcept { return parameters_; }
  MeshCalls& meshes() noexcept { return meshes_; }
  SignalCalls& signals() noexcept { return signals_; }
  IdlePhases& idle_phases() noexcept { return idle_phases_; }
  Collectives& collectives() noexcept { return collectives_; }
  Status end_iteration(const Call& call);
  std::int64_t iteration() const noexcept { return channel_.iteration(); }
  const Ranks& ranks() const noexcept { return start_.ranks; }
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
  static Result<shm::Segment> take_place(const std::string& name, std::uint32_t place);
  Result<Connection> find_successor(const TellHeld& tell_held, std::int64_t limit_ns) noexcept;
  /// This rank is in `iteration` from now on: takes the values that are steered from it on.
  void enter(std::int64_t iteration);
  bool is_automatic() const noexcept;
  /// As mode says.
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
  std::uint32_t place_;  // among the ranks of its server
  shm::Segment segment_;
  Channel channel_;
  VariableTable variables_;
  Failures failures_;
  BlockWriter blocks_;
  ParameterCalls parameters_;
  MeshCalls meshes_;
  SignalCalls signals_;
  IdlePhases idle_phases_;
  Collectives collectives_;
};

}  // namespace leat::client
