// SPDX-License-Identifier: Apache-2.0
#include "client-api/parameter_calls.hpp"

#include <bit>
#include <cstring>

namespace leat::client {
namespace {

using platform::WaitBudget;
using shm::EventKind;

const char* kind_name(std::uint32_t kind) {
  return kind == kInteger ? "int" : kind == kReal ? "double" : "string";
}

}  // namespace

ParameterCalls::ParameterCalls(std::uint32_t client, Channel& channel, VariableTable& variables,
                               Failures& failures)
    : channel_(channel),
      variables_(variables),
      failures_(failures),
      parameters_(shm::Catalogue(channel.segment()), variables.config()),
      steering_(channel.segment(), client) {}

bool ParameterCalls::find(const Call& call, const char* name, std::uint32_t* index,
                          Status* status) {
  if (!name) {
    *status =
        failures_.complain(call, {Status::ERROR_ARGUMENT, "the parameter's name is NULL"}, "");
    return false;
  }
  const std::int64_t found = parameters_.find(name);
  *index = static_cast<std::uint32_t>(found);
  if (found < 0) *status = failures_.complain(call, parameters_.unknown(name), name);
  return found >= 0;
}

Status ParameterCalls::wrong_kind(const Call& call, std::uint32_t parameter, const char* verb) {
  const std::string& name = parameters_.name(parameter);
  const std::string declared = kind_name(parameters_.kind(parameter));
  return failures_.complain(
      call,
      {Status::ERROR_TYPE, "parameter \"" + name + "\" is declared " + declared + " in " +
                               variables_.config() + ": use leat_" + verb + "_" + declared},
      name);
}

bool ParameterCalls::find_to_set(const Call& call, const char* name, std::uint32_t kind,
                                 std::uint32_t* index, Status* status) {
  if (!find(call, name, index, status)) return false;
  if (parameters_.kind(*index) == kind) return true;
  *status = wrong_kind(call, *index, "set");
  return false;
}

bool ParameterCalls::find_to_get(const Call& call, const char* name, const void* value,
                                 std::uint32_t kind, std::uint32_t* index, Status* status) {
  if (!find(call, name, index, status)) return false;
  const std::uint32_t declared = parameters_.kind(*index);
  if (declared != kind && !(declared == kInteger && kind == kReal)) {
    *status = wrong_kind(call, *index, "get");
    return false;
  }
  if (!value) {
    *status =
        failures_.complain(call, {Status::ERROR_ARGUMENT, "the pointer to fill is NULL"}, name);
    return false;
  }
  if (is_set(parameters_.value(*index))) return true;
  *status = failures_.complain(
      call,
      {Status::ERROR_STATE, "parameter \"" + std::string(name) +
                                "\" has no value yet: give it one in " + variables_.config() +
                                ", or call leat_set_" + kind_name(declared) + " first"},
      name);
  return false;
}

Status ParameterCalls::push(const Call& call, EventKind kind, std::uint32_t parameter,
                            std::uint64_t bits) {
  shm::Event event = channel_.event_of(kind);
  event.subject = parameter;
  event.token = bits;
  WaitBudget budget = channel_.budget();
  return not_taken_yet(call, channel_.tell(call.lock, budget, event));
}

// It is known here, and the server learns it in its turn.
Status ParameterCalls::not_taken_yet(const Call& call, Status status) {
  if (status == Status::OK) return status;
  const bool is_gone = status == Status::ERROR_SERVER;
  return failures_.complain(
      call,
      {status, is_gone ? channel_.server().why_gone()
                       : "the server has not taken events for too long; the value holds, and is "
                         "sent as soon as it does"},
      "");
}

Status ParameterCalls::set_integer(const Call& call, const char* name, std::int64_t value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_to_set(call, name, kInteger, &parameter, &status)) return status;
  const Result<void> allowed = variables_.set_integer(parameter, value);
  if (!allowed) return failures_.complain(call, allowed.error(), name);
  parameters_.set(parameter, value);
  return push(call, EventKind::set_integer, parameter, static_cast<std::uint64_t>(value));
}

Status ParameterCalls::set_real(const Call& call, const char* name, double value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_to_set(call, name, kReal, &parameter, &status)) return status;
  parameters_.set(parameter, value);
  return push(call, EventKind::set_real, parameter, std::bit_cast<std::uint64_t>(value));
}

Status ParameterCalls::set_text(const Call& call, const char* name, const std::string& value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_to_set(call, name, kText, &parameter, &status)) return status;
  parameters_.set(parameter, value);
  WaitBudget budget = channel_.budget();
  std::uint64_t offset = 0;
  status = channel_.reserve(call.lock, budget, value.size(), kNoIteration, &offset);
  if (status == Status::DROPPED) {  // the value stays: memory of the iteration has come back now
    status = channel_.reserve(call.lock, budget, value.size(), kNoIteration, &offset);
  }
  if (status == Status::DROPPED) status = Status::ERROR_FULL;
  if (status != Status::OK) {
    return failures_.complain(call, {status, "no room in the segment for the value"}, name);
  }
  std::memcpy(channel_.segment().at<char>(offset + sizeof(shm::BlockHeader)), value.data(),
              value.size());
  shm::Event event = channel_.event_of(EventKind::set_text);
  event.subject = parameter;
  event.offset = offset;
  event.bytes = sizeof(shm::BlockHeader) + value.size();
  return not_taken_yet(call, channel_.tell(call.lock, budget, event));
}

void ParameterCalls::enter(std::int64_t iteration) {
  steering_.enter(iteration, [this](std::uint32_t parameter, const shm::SteeredValue& value) {
    parameters_.set_steered(parameter, value);
  });
}

Status ParameterCalls::get_integer(const Call& call, const char* name, std::int64_t* value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_to_get(call, name, value, kInteger, &parameter, &status)) return status;
  *value = as_integer(parameters_.value(parameter));
  return Status::OK;
}

Status ParameterCalls::get_real(const Call& call, const char* name, double* value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_to_get(call, name, value, kReal, &parameter, &status)) return status;
  *value = as_real(parameters_.value(parameter));
  return Status::OK;
}

Status ParameterCalls::get_text(const Call& call, const char* name, char* text, std::uint64_t size,
                                std::uint64_t* needed) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  const bool only_asks = size == 0 && needed;
  const void* place = only_asks ? static_cast<const void*>(needed) : text;
  if (!find_to_get(call, name, place, kText, &parameter, &status)) return status;
  const std::string_view value = as_text(parameters_.value(parameter));
  const std::uint64_t bytes = value.size() + 1;
  if (needed) *needed = bytes;
  if (only_asks) return Status::OK;
  if (size >= bytes) {
    std::memcpy(text, value.data(), bytes);  // with the 0 behind it
    return Status::OK;
  }
  return failures_.complain(
      call,
      {Status::ERROR_ARGUMENT,
       "the value of \"" + std::string(name) + "\" needs " + std::to_string(bytes) +
           " bytes with its ending zero, the text given has " + std::to_string(size)},
      name);
}

}  // namespace leat::client
