// SPDX-License-Identifier: Apache-2.0
// The run that a server serves: what stays as it is while it goes on, and what time it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"
#include "server/session/executor.hpp"
#include "server/session/log.hpp"

namespace leat::server {

/// What servers that are ranks of one job have in common.
struct ServerMpi {
  void* communicator = nullptr;  ///< an MPI_Comm of the simulation's MPI; null: there is none
  std::string why_none{};        ///< for those who ask for one
};

struct RunFacts {
  std::string session;
  std::int32_t ranks = 1;
  std::int32_t node_ranks = 1;
  bool resumed = false;  ///< a server of this run has died, and this one goes on in its place
  bool drained =
      false;  ///< and no rank lives: what they had handed over is stored, and that is all
  std::string run_id{};  ///< of this run on this node alone: the name of its segment
  /// The ranks are known to live until they come: they and the server are one job.
  bool ranks_are_sure = false;
  /// Servers of one node have its ranks between them: to each it is as if it were a node.
  std::int32_t server = 0, servers = 1;
  std::int32_t first_on_node = 0;   ///< the number on the node of the first of its ranks
  std::int32_t others_on_node = 0;  ///< ranks of this node that other servers have
  std::int32_t cores_on_node = 1;   ///< of all of its servers
  ServerMpi mpi{};                  ///< for plugins
  std::string run_session{};        ///< that all servers of the run have in common; "": `session`
  bool in_simulation = false;       ///< the process is a rank's, which computes on other threads
  bool cores_are_shared =
      false;  ///< ranks compute on the server's cores too; known when they are there
  std::int32_t node_number = 1;  ///< of those nodes of the run whose hosts are called as this one

  /// Of a run with several servers nobody has all ranks in hand.
  bool has_all_ranks() const noexcept { return ranks == node_ranks; }
};

/// All that is referred to outlives it.
struct Run {
  const model::Model& model;
  const shm::Segment& segment;
  RunFacts facts;
  std::shared_ptr<Log> log;
  Executor& executor;
  std::string folder;       ///< that output goes to, where the XML does not say another one
  std::int64_t now_ns = 0;  ///< of the engine's step in progress, by the clock of who calls it

  /// Those who wait for us see that something gets done. From any thread.
  void made_progress() const noexcept {
    segment.server_state().progress.fetch_add(1, std::memory_order_relaxed);
  }
  std::int64_t timeout_ns() const noexcept {
    return static_cast<std::int64_t>(segment.header().timeout_ns);
  }
};

}  // namespace leat::server
