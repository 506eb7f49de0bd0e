// SPDX-License-Identifier: Apache-2.0
// The threads of an engine, each where the one is that starts it, and none of them as urgent as the
// engine itself: it is the one that clients wait for.
#pragma once

#include "server/session/executor.hpp"

namespace leat::server {

class ThreadExecutor final : public Executor {
 public:
  std::jthread run(const char* name, Urgency urgency, std::function<void()> work) override;
};

}  // namespace leat::server
