// SPDX-License-Identifier: Apache-2.0
#include "server/state/group/awaited_outcome.hpp"

#include <chrono>

#include "lib/os/clock.hpp"

namespace leat::server {
namespace {

constexpr auto kLookIfGivenUp = std::chrono::milliseconds(50);

}  // namespace

void AwaitedOutcome::came(const comm::Outcome& outcome) {
  const std::lock_guard<std::mutex> lock(mutex_);
  outcome_ = outcome;
  changed_.notify_all();
}

std::optional<comm::Outcome> AwaitedOutcome::await(std::int64_t deadline_ns,
                                                   const std::function<bool()>& given_up) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!outcome_ && os::now_ns() < deadline_ns && !given_up())
    changed_.wait_for(lock, kLookIfGivenUp);
  return outcome_;
}

}  // namespace leat::server
