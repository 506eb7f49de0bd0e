// SPDX-License-Identifier: Apache-2.0
// How an engine gets done what goes on beside its steps: who hosts it says on which threads.
#pragma once

#include <functional>
#include <thread>

namespace leat::server {

class Executor {
 public:
  enum class Urgency {
    behind_others,  ///< other threads on the same cores go first
    background      ///< in the gaps that others leave
  };
  virtual ~Executor() = default;

  /// Calls `work` once, on a thread of its own called `name` (of at most 15 characters). Throws
  /// std::system_error when there is none to be had. From any thread.
  virtual std::jthread run(const char* name, Urgency urgency, std::function<void()> work) = 0;
};

}  // namespace leat::server
