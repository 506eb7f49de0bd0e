// SPDX-License-Identifier: Apache-2.0
// What a round of all servers has come to, for a thread that is not the engine's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "lib/comm/group.hpp"

namespace leat::server {

// An outcome, and a thread that waits for it.
class AwaitedOutcome {
 public:
  void came(const comm::Outcome& outcome);
  /// Nothing when `deadline_ns` has passed, or `given_up`, which is asked every now and then, says so.
  std::optional<comm::Outcome> await(std::int64_t deadline_ns,
                                     const std::function<bool()>& given_up);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<comm::Outcome> outcome_;
};

}  // namespace leat::server
