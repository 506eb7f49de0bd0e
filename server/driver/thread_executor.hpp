// SPDX-License-Identifier: Apache-2.0
// The threads of an engine, each where the one is that starts it, and none of them as urgent as the
// engine itself: it is the one that clients wait for.
#pragma once

#include <memory>

#include "lib/platform/affinity.hpp"
#include "server/session/executor.hpp"

namespace leat::server {

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor();
  ~ThreadExecutor() override;
  std::jthread run(const char* name, Urgency urgency, std::function<void()> work) override;

  /// Binds those that are at work now.
  void bind(const platform::CpuSet& cpus);

 private:
  class AtWork;
  std::shared_ptr<AtWork> at_work_;  // the threads' too: they may end later
};

}  // namespace leat::server
