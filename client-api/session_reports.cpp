// SPDX-License-Identifier: Apache-2.0
// The part of Session that says what failed: to the server, which speaks for all ranks, or itself.
#include "client-api/last_error.hpp"
#include "client-api/session.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::client {

Status Session::complain(Call& call, const Error& error, std::string_view subject) noexcept {
  const std::string text = std::string(call.name) + ": " + error.message;
  bool is_new = false;
  last_kind_ = number_of_kind(error.status, call.name + std::string(subject), &is_new);
  keep_error(text);
  if (is_new && !report(last_kind_, subject, text)) tell(text);
  return error.status;
}

bool Session::report(std::uint32_t number, std::string_view subject,
                     const std::string& text) noexcept {
  shm::Report report{};
  const std::int64_t variable = variables_.index_of(subject);
  report.number = number;
  report.variable = variable < 0 ? shm::kNoVariable : static_cast<std::uint32_t>(variable);
  text.copy(report.text, sizeof report.text - 1);
  return channel_.link().report(report);
}

}  // namespace leat::client
