// SPDX-License-Identifier: Apache-2.0
// The part of Session that sets parameters: kept here so that later layouts use them, and told to
// the server.
#include <bit>
#include <cstring>

#include "client-api/session.hpp"

namespace leat::client {
namespace {

using platform::Patience;
using shm::EventKind;

// As in shm::ParameterRecord.
constexpr std::uint32_t kInteger = 1, kReal = 2, kText = 3;

const char* kind_name(std::uint32_t kind) {
  return kind == kInteger ? "int" : kind == kReal ? "double" : "string";
}

}  // namespace

bool Session::find_parameter(Call& call, const char* name, std::uint32_t kind, std::uint32_t* index,
                             Status* status) {
  if (!name) {
    *status = complain(call, {Status::ERROR_ARGUMENT, "the parameter's name is NULL"}, "");
    return false;
  }
  const std::int64_t found = variables_.find_parameter(name);
  if (found < 0) {
    *status = complain(call, variables_.unknown_parameter(name), name);
    return false;
  }
  *index = static_cast<std::uint32_t>(found);
  const std::uint32_t declared = variables_.parameter(*index).kind;
  if (declared == kind) return true;
  *status = complain(call,
                     {Status::ERROR_TYPE, "parameter \"" + std::string(name) + "\" is declared " +
                                              kind_name(declared) + " in " + variables_.config() +
                                              ": use leat_set_" + kind_name(declared)},
                     name);
  return false;
}

Status Session::push_parameter(Call& call, EventKind kind, std::uint32_t parameter,
                               std::uint64_t bits) {
  shm::Event event = event_of(kind);
  event.subject = parameter;
  event.token = bits;
  Patience patience(channel_.timeout_ns());
  const Status status = channel_.push(call.lock, patience, event);
  if (status == Status::OK) return status;
  return complain(call, {status, "the server of this node did not take the value"}, "");
}

Status Session::set_integer(Call& call, const char* name, std::int64_t value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_parameter(call, name, kInteger, &parameter, &status)) return status;
  const Result<void> allowed = variables_.set_integer(parameter, value);
  if (!allowed) return complain(call, allowed.error(), name);
  return push_parameter(call, EventKind::set_integer, parameter, static_cast<std::uint64_t>(value));
}

Status Session::set_real(Call& call, const char* name, double value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_parameter(call, name, kReal, &parameter, &status)) return status;
  return push_parameter(call, EventKind::set_real, parameter, std::bit_cast<std::uint64_t>(value));
}

Status Session::set_text(Call& call, const char* name, const std::string& value) {
  std::uint32_t parameter = 0;
  Status status = Status::OK;
  if (!find_parameter(call, name, kText, &parameter, &status)) return status;
  Patience patience(channel_.timeout_ns());
  std::uint64_t offset = 0;
  status = channel_.reserve(call.lock, patience, value.size(), iteration_, &offset);
  if (status != Status::OK) {
    return complain(call, {status, "no room in the segment for the value"}, name);
  }
  shm::BlockHeader& header = *segment_.at<shm::BlockHeader>(offset);
  header = shm::BlockHeader{};
  header.data_bytes = value.size();
  std::memcpy(segment_.at<char>(offset + sizeof header), value.data(), value.size());
  shm::Event event = event_of(EventKind::set_text);
  event.subject = parameter;
  event.offset = offset;
  event.bytes = sizeof header + value.size();
  status = channel_.push(call.lock, patience, event);
  if (status == Status::OK) return status;
  return complain(call, {status, "the server of this node did not take the value"}, name);
}

}  // namespace leat::client
