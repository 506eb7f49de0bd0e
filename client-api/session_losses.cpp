// SPDX-License-Identifier: Apache-2.0
// The part of Session that keeps count of writes that failed, and tells the server of them.
#include "client-api/session.hpp"

namespace leat::client {

void Session::count_lost(std::string_view variable, const Error& error) {
  channel_.count_failed();
  if (lost_++ > 0) return;
  first_lost_ = "\"" + std::string(variable) + "\" of iteration " + std::to_string(iteration_) +
                ": " + error.message;
}

// For the server's ledger; the client's own count is what decides.
void Session::tell_lost(std::uint32_t variable, Status status, std::uint64_t bytes) {
  shm::Event event = event_of(shm::EventKind::lost);
  event.subject = variable;
  event.block = 1;
  event.bytes = bytes;
  event.token = static_cast<std::uint32_t>(status) | std::uint64_t{last_kind_} << 32;
  channel_.tell_now(event);
}

Status Session::lose(Call& call, std::uint32_t variable, const Error& error, std::uint64_t bytes) {
  count_lost(variables_.name(variable), error);
  const Status status = complain(call, error, variables_.name(variable));
  tell_lost(variable, error.status, bytes);
  return status;
}

}  // namespace leat::client
