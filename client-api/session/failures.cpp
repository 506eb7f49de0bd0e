// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/failures.hpp"

#include "client-api/connect/last_error.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::client {

Status Failures::complain(const Call& call, const Error& error, std::string_view subject) noexcept {
  const std::string text = std::string(call.name) + ": " + error.message;
  bool is_new = false;
  last_kind_ = number_of_kind(error.status, call.name + std::string(subject), &is_new);
  store_error(text);
  if (is_new && !report(last_kind_, subject, text)) tell(text);
  return error.status;
}

void Failures::mention(const std::string& subject, const std::string& text,
                       std::uint32_t level) noexcept {
  bool is_new = false;
  const std::uint32_t number = number_of_kind(Status::UNWANTED, subject, &is_new);
  if (is_new && !report(number | level, "", text)) tell(text);
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

void Failures::lose_elsewhere(const Call& call, std::uint32_t variable, std::int64_t iteration,
                              std::uint32_t writes, std::uint64_t bytes, const Error& why) {
  (void)complain(call, why, std::to_string(variable));
  shm::Event event = channel_.event_of(shm::EventKind::lost);
  event.subject = variable;
  event.iteration = iteration;
  event.block = writes;
  event.bytes = bytes;
  event.token = static_cast<std::uint32_t>(why.status) | std::uint64_t{last_kind_} << 32;
  channel_.count_failed(writes);
  channel_.events().tell_now(event);
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

// "u,v" where one name is meant.
static Error of_one(const Call& call, Error error, std::string_view name) {
  if (name.find(',') == std::string_view::npos) return error;
  const std::string function = call.name;
  error.message += "; " + function + " takes one variable";
  if (function == "leat_write" || function == "leat_read")
    error.message += ", and " + function + "_all of C++, Fortran and Python several";
  return error;
}

bool BlockNames::find_variable(const Call& call, const char* name, std::uint32_t* variable,
                               Status* status) {
  if (!name) {
    *status = failures_.complain(call, {Status::ERROR_ARGUMENT, "the variable's name is NULL"}, "");
    return false;
  }
  const std::int64_t found = variables_.find(name);
  *variable = static_cast<std::uint32_t>(found);
  if (found < 0)
    *status = failures_.complain(call, of_one(call, variables_.unknown_variable(name), name), name);
  return found >= 0;
}

// The block's number is one that files can hold.
bool BlockNames::find_or_complain(const Call& call, const char* name, std::uint32_t block,
                                  std::uint32_t* variable, Status* status) {
  if (!find_variable(call, name, variable, status)) return false;
  if (block <= kMostBlock) return true;
  *status = failures_.complain(
      call,
      {Status::ERROR_ARGUMENT, "block " + std::to_string(block) + " of \"" + name +
                                   "\": numbers of blocks end at " + std::to_string(kMostBlock)},
      name);
  return false;
}

bool BlockNames::find_or_lose(const Call& call, const char* name, std::uint32_t block,
                              std::uint32_t* variable, Status* status) {
  if (find_or_complain(call, name, block, variable, status)) return true;
  const bool is_known = *status == Status::ERROR_ARGUMENT && name;
  failures_.lose_unknown(name ? name : "", is_known ? *variable : shm::kNoVariable,
                         {*status, last_error()});
  return false;
}

bool BlockNames::find_with_list(const Call& call, const char* name, std::uint32_t block,
                                const NumberList& list, std::uint32_t* variable,
                                std::array<std::int64_t, kMaxDims>* numbers, Status* status) {
  if (!find(call, name, block, variable, status)) return false;
  const DeclaredVariable declared = variables_.declared(*variable);
  const std::uint32_t dims = declared.dims();
  if (list.count != NumberList::kAsMany && list.count != static_cast<std::int32_t>(dims)) {
    *status = failures_.complain(call, declared.wrong_count(list), name);
    return false;
  }
  if (!list.numbers && dims > 0) {
    *status = failures_.complain(call, {Status::ERROR_ARGUMENT, "the numbers are NULL"}, name);
    return false;
  }
  for (std::uint32_t d = 0; d < dims; ++d)
    (*numbers)[d] = list.numbers[list.column_major ? dims - 1 - d : d];
  return true;
}

}  // namespace leat::client
