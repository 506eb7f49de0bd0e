// SPDX-License-Identifier: Apache-2.0
// The part of Session after the last iteration: it ends when all is stored, or says what is not.
#include <cstdlib>
#include <cstring>

#include "client-api/last_error.hpp"
#include "client-api/session.hpp"
#include "lib/os/process.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::client {
namespace {

constexpr std::int64_t kSliceNs = 100'000'000;
constexpr std::int64_t kReapLimitNs = 2'000'000'000;

// For tests and chains of jobs: whatever went wrong is an error.
bool is_strict() {
  const char* const value = std::getenv("LEAT_STRICT");
  return value && *value != 0 && std::strcmp(value, "0") != 0;
}

}  // namespace

void Session::detach(const Call& call) noexcept {
  if (blocks_.wrote_since_end() || signals_.any_since_end()) (void)end_iteration(call);
  platform::WaitBudget budget = channel_.budget();
  (void)channel_.tell(call.lock, budget, channel_.event_of(shm::EventKind::finalize));
}

Status Session::await_drained(const char* call_name) {
  shm::DrainReport report{};
  ProgressBudget budget = progress_budget();
  for (;;) {
    switch (channel_.events().link().await(&report, kSliceNs)) {
      case shm::ToServer::Received::message:
        report.message[sizeof report.message - 1] = 0;
        if (report.has_problems && is_strict())
          report.status = static_cast<int>(Status::ERROR_LOST);
        return end_of_drain(call_name, report.message, static_cast<Status>(report.status),
                            report.speaks != 0);
      case shm::ToServer::Received::closed:
        if (channel_.server().change_server(budget.left()) == Status::OK) break;
        return end_of_drain(call_name, "not all may be stored: " + channel_.server().why_gone(),
                            Status::ERROR_SERVER, place_ == 0);
      case shm::ToServer::Received::nothing:
        break;
    }
    channel_.events().has_room();  // sends what found none before
    if (budget.left().left_ns() == 0) {
      return end_of_drain(
          call_name,
          "for the whole timeout the server has made no progress, because other ranks "
          "of this node neither write nor end, or because it is stuck; it goes on "
          "by itself, and its log says what became of the data",
          Status::ERROR_TIMEOUT, place_ == 0);
    }
  }
}

void Session::leave_at_exit() noexcept {
  ProgressBudget budget = progress_budget();
  leave_to_parent();
  if (!own_.hosted) return;
  while (!own_.hosted->await_end(kSliceNs)) {
    if (budget.left().left_ns() > 0) continue;
    tell(
        "the server in this process has made no progress for the whole timeout, and ends with it; "
        "what is in memory is stored by the next start on this node, or by `leat recover`");
    return;
  }
}

// What was handed over after the run had been drained: the server takes nothing once it has noted
// that this rank is cut off.
void Session::count_late() {
  const shm::ServerLane& lane = *segment_.client(place_).server;
  const shm::ClientRecord& record = lane.records[lane.record.load(std::memory_order_acquire) & 1];
  if (record.phase != static_cast<std::uint32_t>(shm::ClientPhase::cut_off)) return;
  const std::string why = shm::drain_in_words(segment_.server_state());
  channel_.events().for_each_left([&](const shm::Event& event) {
    if (event.kind == static_cast<std::uint32_t>(shm::EventKind::block))
      failures_.lose_block(event, why);
  });
}

Status Session::end_of_drain(const char* call_name, const std::string& says, Status server_status,
                             bool speaks) {
  if (server_status != Status::ERROR_TIMEOUT) {
    if (own_.pid > 0) platform::reap(own_.pid, kReapLimitNs);
    if (own_.hosted) own_.hosted->await_end(kReapLimitNs);
  }
  count_late();
  const std::uint64_t lost = failures_.lost();
  if (server_status == Status::OK && lost == 0) {
    // No error, but nobody shall wonder.
    if (!says.empty() && speaks) tell(std::string(call_name) + ": " + says);
    return Status::OK;
  }
  std::string text = std::string(call_name) + ": ";
  if (lost > 0) {
    text +=
        std::to_string(lost) + (lost == 1 ? " write" : " writes") +
        " of this rank failed, nothing of which is stored; the first: " + failures_.first_lost();
  }
  if (!says.empty()) text += (lost > 0 ? "\nthe server: " : "") + says;
  // What the node's server says is printed by one rank; what only a rank knows, by that rank.
  const bool only_here = lost > 0 && server_status != Status::ERROR_LOST;
  return fail_quietly(server_status == Status::OK ? Status::ERROR_LOST : server_status, text,
                      speaks || only_here);
}

}  // namespace leat::client
