// SPDX-License-Identifier: Apache-2.0
// The call that signals an event of the XML. Called with the session's lock held.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "client-api/channel.hpp"
#include "client-api/failures.hpp"
#include "lib/shm/catalogue.hpp"

namespace leat::client {

class SignalCalls {
 public:
  SignalCalls(Channel& channel, const std::string& config, Failures& failures);

  /// In the iteration that this rank is in. Waits only when the ring is full; after an error
  /// nothing was signalled.
  Status signal(const Call& call, const char* event);
  /// This iteration has to be ended, be there blocks or not.
  bool any_since_end() const noexcept { return any_since_end_; }
  void begin_iteration() noexcept { any_since_end_ = false; }

 private:
  Error unknown(std::string_view name) const;
  Status not_taken(const Call& call, Status status, const std::string& name);

  Channel& channel_;
  std::string config_;
  Failures& failures_;
  std::unordered_map<std::string_view, std::uint32_t> events_;
  bool any_since_end_ = false;
};

}  // namespace leat::client
