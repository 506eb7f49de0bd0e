// SPDX-License-Identifier: Apache-2.0
#include "client-api/failures.hpp"

#include "client-api/last_error.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::client {

Status Failures::complain(const Call& call, const Error& error, std::string_view subject) noexcept {
  const std::string text = std::string(call.name) + ": " + error.message;
  bool is_new = false;
  last_kind_ = number_of_kind(error.status, call.name + std::string(subject), &is_new);
  keep_error(text);
  if (is_new && !report(last_kind_, subject, text)) tell(text);
  return error.status;
}

bool Failures::report(std::uint32_t number, std::string_view subject,
                      const std::string& text) noexcept {
  shm::Report report{};
  const std::int64_t variable = variables_.index_of(subject);
  report.number = number;
  report.variable = variable < 0 ? shm::kNoVariable : static_cast<std::uint32_t>(variable);
  text.copy(report.text, sizeof report.text - 1);
  return channel_.events().report(report);
}

Status Failures::lose(const Call& call, std::uint32_t variable, const Error& error,
                      std::uint64_t bytes) {
  channel_.count_failed();
  count_lost(variables_.name(variable), channel_.iteration(), error.message);
  const Status status = complain(call, error, variables_.name(variable));
  tell_lost(variable, error.status, bytes);
  return status;
}

void Failures::lose_unknown(std::string_view name, std::uint32_t variable, const Error& error) {
  channel_.count_failed();
  count_lost(name, channel_.iteration(), error.message);
  tell_lost(variable, error.status, 0);
}

void Failures::lose_block(const shm::Event& block, const std::string& why) {
  count_lost(variables_.name(block.subject), block.iteration, why);
}

void Failures::count_lost(std::string_view variable, std::int64_t iteration,
                          const std::string& why) {
  if (lost_++ > 0 && iteration >= first_iteration_) return;
  first_iteration_ = iteration;
  first_lost_ =
      "\"" + std::string(variable) + "\" of iteration " + std::to_string(iteration) + ": " + why;
}

// For the server's ledger; the client's own count is what decides.
void Failures::tell_lost(std::uint32_t variable, Status status, std::uint64_t bytes) {
  shm::Event event = channel_.event_of(shm::EventKind::lost);
  event.subject = variable;
  event.block = 1;
  event.bytes = bytes;
  event.token = static_cast<std::uint32_t>(status) | std::uint64_t{last_kind_} << 32;
  channel_.events().tell_now(event);
}

}  // namespace leat::client
