// SPDX-License-Identifier: Apache-2.0
#include "client-api/signal_calls.hpp"

#include <vector>

#include "lib/base/text.hpp"

namespace leat::client {

SignalCalls::SignalCalls(Channel& channel, const std::string& config, Failures& failures)
    : channel_(channel), config_(config), failures_(failures) {
  const shm::Catalogue catalogue(channel.segment());
  for (const shm::SignalRecord& each : catalogue.signals())
    events_.emplace(catalogue.text(each.name), static_cast<std::uint32_t>(events_.size()));
}

Error SignalCalls::unknown(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& [known, number] : events_) names.emplace_back(known);
  return {Status::ERROR_UNKNOWN_NAME,
          config_ + " declares no event \"" + std::string(name) + "\"" + did_you_mean(name, names) +
              (names.empty() ? ": <actions><event name=\"...\"/></actions> does" : "")};
}

Status SignalCalls::not_taken(const Call& call, Status status, const std::string& name) {
  if (status == Status::OK) return status;
  if (status == Status::ERROR_SERVER)
    return failures_.complain(call, {status, channel_.server().why_gone()}, "");
  return failures_.complain(
      call,
      {Status::ERROR_TIMEOUT, "the server has not taken events for too long; \"" + name +
                                  "\" was not signalled, and nothing of it is known to it"},
      name);
}

Status SignalCalls::signal(const Call& call, const char* event) {
  if (!event)
    return failures_.complain(call, {Status::ERROR_ARGUMENT, "the event's name is NULL"}, "");
  const auto found = events_.find(event);
  if (found == events_.end()) return failures_.complain(call, unknown(event), event);
  shm::Event said = channel_.event_of(shm::EventKind::signal);
  said.subject = found->second;
  platform::WaitBudget budget = channel_.budget();
  const Status status = channel_.push(call.lock, budget, said);
  if (status == Status::OK) any_since_end_ = true;
  return not_taken(call, status, event);
}

}  // namespace leat::client
