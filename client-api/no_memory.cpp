// SPDX-License-Identifier: Apache-2.0
#include "client-api/no_memory.hpp"

#include "lib/os/memory.hpp"

namespace leat::client {
namespace {

std::string enlarge(std::string_view config) {
  return ": make <buffer size=\"...\"/> in " + std::string(config) + " larger";
}

// `room`: "no room for 2 MiB of "t": the segment of 8 MiB".
Error explain_refusal(const std::string& room, const WantedBlock& wanted, const Channel& channel) {
  const Refusal& refusal = channel.memory().requests().refusal();
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
  return {Status::ERROR_FULL, room + " is too small: this node's iteration " +
                                  std::to_string(channel.iteration()) +
                                  " alone, which cannot be stored before it has ended, holds " +
                                  platform::format_bytes(refusal.in_use) + enlarge(wanted.config)};
}

std::string exactly(std::uint64_t bytes) {
  return platform::format_bytes(bytes) + " (" + std::to_string(bytes) + " bytes)";
}

}  // namespace

Error explain_no_memory(Status status, const WantedBlock& wanted, const Channel& channel) {
  const std::string name = "\"" + std::string(wanted.variable) + "\"";
  const shm::SegmentHeader& header = channel.segment().header();
  if (status == Status::ERROR_TOO_LARGE) {
    return {status, "a block of " + name + " has " + exactly(wanted.bytes) +
                        ", but the whole segment has " + exactly(header.data_bytes) +
                        enlarge(wanted.config)};
  }
  const std::string room = "no room for " + platform::format_bytes(wanted.bytes) + " of " + name +
                           ": the segment of " + platform::format_bytes(header.data_bytes);
  if (status == Status::ERROR_FULL && channel.memory().requests().refusal().in_use > 0)
    return explain_refusal(room, wanted, channel);
  if (status == Status::ERROR_FULL) {
    return {status, room + " stayed full for " + std::to_string(header.timeout_ns / 1'000'000) +
                        " ms; the data are stored slower than they come, or another rank of "
                        "this node has not ended its iteration"};
  }
  return {status, name + " of iteration " + std::to_string(channel.iteration()) +
                      " is not stored: " + channel.server().why_gone()};
}

}  // namespace leat::client
