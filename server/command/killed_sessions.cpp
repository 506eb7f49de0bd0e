// SPDX-License-Identifier: Apache-2.0
#include "server/command/killed_sessions.hpp"

#include <utility>

#include "lib/node/runtime_folder.hpp"

namespace leat::command {

std::vector<KilledSession> killed_sessions() {
  std::vector<KilledSession> killed;
  const platform::Findings found =
      platform::sweep({platform::runtime_folder_name()}, platform::Sweep::look, shm::must_stay);
  for (const platform::UndrainedOne& one : found.undrained) {
    KilledSession session{one, shm::undrained_in(one.segment)};
    session.iterations = session.held.iterations.size();
    session.blocks = session.held.blocks;
    session.bytes = session.held.bytes;
    session.problem = session.held.problem;
    killed.push_back(std::move(session));
  }
  return killed;
}

}  // namespace leat::command
