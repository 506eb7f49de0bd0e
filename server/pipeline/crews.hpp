// SPDX-License-Identifier: Apache-2.0
// Those who do pieces of iterations, one for each schedule.
#pragma once

#include <cstddef>

#include "lib/model/model.hpp"
#include "lib/platform/affinity.hpp"
#include "server/pipeline/work_team.hpp"

namespace leat::server {

struct ServerCores {
  std::size_t dedicated = 1;  ///< how many are the server's own
  platform::CpuSet all{};     ///< that may be used while the simulation waits
  PieceRunner* lent{};        ///< threads that the simulation lends; null: none
};

class Crews {
 public:
  explicit Crews(const ServerCores& cores);

  /// What died with the simulation's process is made up for on the server's own cores.
  PieceRunner& of(model::Schedule schedule);
  /// Once, for those that were asked for. With fewer threads, when there are no more to be had.
  void start(Executor& executor);

 private:
  WorkTeam dedicated_;
  WorkTeam everywhere_;  // while the ranks wait
  PieceRunner* lent_;
  bool is_everywhere_wanted_ = false;
};

}  // namespace leat::server
