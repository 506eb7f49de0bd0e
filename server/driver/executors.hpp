// SPDX-License-Identifier: Apache-2.0
// The threads of an engine, and threads that the simulation lends.
#pragma once

#include <memory>
#include <vector>

#include "lib/base/server_library.h"
#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "lib/os/cores.hpp"
#include "server/pipeline/plugin_loader.hpp"
#include "server/pipeline/work_team.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// The threads of an engine, each where the one is that starts it, and none of them as urgent as the
// engine itself: it is the one that clients wait for.
class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor();
  ~ThreadExecutor() override;
  std::jthread run(const char* name, Urgency urgency, std::function<void()> work) override;

  /// Binds those that are at work now.
  void bind(const os::CpuSet& cpus);

 private:
  class AtWork;
  std::shared_ptr<AtWork> at_work_;  // the threads' too: they may end later
};

// Pieces that threads of the simulation do, as runs="dynamic" says: those of whoever called
// leat_set_executor in this process.

/// Null where the run needs none. An error where it does and `executor` has no functions, or a plugin
/// no pieces. What was done is in the log at the end.
Result<std::unique_ptr<PieceRunner>> crew_of_simulation(const model::Model& model,
                                                        const std::vector<LoadedPlugin>& plugins,
                                                        const leat_server_pieces& executor,
                                                        const std::shared_ptr<Log>& log);

}  // namespace leat::server
