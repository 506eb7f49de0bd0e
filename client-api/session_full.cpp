// SPDX-License-Identifier: Apache-2.0
// The part of Session that knows what when-full says.
#include "client-api/session.hpp"
#include "lib/platform/memory.hpp"

namespace leat::client {

bool Session::drops_iterations() const noexcept {
  return segment_.header().overflow_policy ==
         static_cast<std::uint32_t>(shm::OverflowPolicy::drop_iteration);
}

// `room`: "no room for 2 MiB of "t": the segment of 8 MiB".
Error Session::explain_refusal(const std::string& room, const Channel::Refusal& refusal) const {
  const std::string iteration = "iteration " + std::to_string(refusal.iteration);
  const std::string text = room + " is full, and when-full=\"error\" does not wait; ";
  switch (refusal.reason) {
    case shm::RefusalReason::hopeless:
      break;
    case shm::RefusalReason::stores:
      return {Status::ERROR_FULL, text + "the stores are not done with " + iteration};
    case shm::RefusalReason::scripts:
      return {Status::ERROR_FULL, text + "scripts are not done with " + iteration};
    case shm::RefusalReason::ranks:
      return {Status::ERROR_FULL, text + "another rank of this node has not ended " + iteration};
  }
  return {Status::ERROR_FULL,
          room + " is too small: this node's iteration " + std::to_string(iteration_) +
              " alone, which cannot be stored before it has ended, holds " +
              platform::format_bytes(refusal.in_use) + ": make <buffer size=\"...\"/> in " +
              variables_.config() + " larger"};
}

}  // namespace leat::client
