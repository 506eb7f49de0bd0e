// SPDX-License-Identifier: Apache-2.0
// Server: clients coming and going.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

#include "lib/platform/clock.hpp"
#include "lib/platform/local_socket.hpp"
#include "lib/platform/memory.hpp"
#include "server/engine/server.hpp"

namespace leat::server {
namespace {

constexpr std::int64_t kGreetingLimitNs = 100'000'000;
// Then the others get their turn.
constexpr int kMostAtOnce = 64;

}  // namespace

void Server::accept_clients() {
  while (platform::UniqueFd connection = platform::accept_own_user(listener_.get())) {
    watch(connection.get());
    greeting_.push_back(std::move(connection));
  }
}

std::string Server::why_refused(const shm::Hello& hello) const {
  if (hello.magic != shm::kMagic || hello.version != shm::kLayoutVersion) {
    return "leatd has segment layout version " + std::to_string(shm::kLayoutVersion) +
           ", the client library has version " + std::to_string(hello.version) +
           ": use libleat and leatd of one Leat";
  }
  if (hello.node_size != facts_.node_ranks || hello.size != facts_.ranks || hello.node_rank < 0 ||
      hello.node_rank >= facts_.node_ranks) {
    return "rank " + std::to_string(hello.node_rank) + " of " + std::to_string(hello.node_size) +
           " on its node does not fit into session " + facts_.session + ", which has " +
           std::to_string(facts_.node_ranks) +
           " ranks on this node: give the two runs different LEAT_SESSION names";
  }
  const ClientLink& client = clients_[static_cast<std::size_t>(hello.node_rank)];
  if (hello.resumed && hello.segment != segment_.name()) {
    return "rank " + std::to_string(hello.node_rank) + " of this node was part of another run of " +
           "this name, with segment " + std::string(hello.segment) + ", not of session " +
           facts_.session + " as it is now, with segment " + segment_.name() +
           ": give the two runs different LEAT_SESSION names";
  }
  // Absent: the server before this one was killed between its welcome and its note of that.
  if (hello.resumed && (client.is_away() || client.phase() == ClientLink::Phase::absent)) return "";
  if (hello.resumed) {
    return "rank " + std::to_string(hello.node_rank) + " of this node is no part of session " +
           facts_.session + " any more: its server was told to end, or has taken it for dead";
  }
  if (std::string late = late_ranks_.why_too_late(facts_.session, hello.node_rank, hello.since_ns);
      !late.empty()) {
    return late;
  }
  if (client.is_gone() && client.never_came()) {
    return "rank " + std::to_string(hello.node_rank) + " of this node came too late for session " +
           facts_.session +
           ": the others had waited for it for the timeout of <buffer>, and go on without it; "
           "nothing of this rank is stored";
  }
  if (client.phase() != ClientLink::Phase::absent) {
    return "rank " + std::to_string(hello.node_rank) + " of this node is already part of session " +
           facts_.session + ": give the two runs different LEAT_SESSION names";
  }
  return "";
}

void Server::greet(platform::UniqueFd connection) {
  shm::Hello hello{};
  const platform::Received received =
      platform::receive_message(connection.get(), &hello, sizeof hello, kGreetingLimitNs);
  if (received != platform::Received::message) return;
  hello.segment[sizeof hello.segment - 1] = 0;
  const std::string refusal = why_refused(hello);
  shm::Welcome welcome{};
  welcome.magic = shm::kMagic;
  welcome.version = shm::kLayoutVersion;
  welcome.status =
      static_cast<std::int32_t>(refusal.empty()                        ? Status::OK
                                : hello.version == shm::kLayoutVersion ? Status::ERROR_STATE
                                                                       : Status::ERROR_VERSION);
  refusal.copy(welcome.message, sizeof welcome.message - 1);
  segment_.name().copy(welcome.segment, sizeof welcome.segment - 1);
  const int passed = refusal.empty() ? doorbell_.get() : -1;
  if (!platform::send_message(connection.get(), &welcome, sizeof welcome, kGreetingLimitNs,
                              passed) ||
      !refusal.empty()) {
    if (!refusal.empty()) log_->warn("refused a client (pid {}): {}", hello.pid, refusal);
    return;
  }
  ClientLink& client = clients_[static_cast<std::size_t>(hello.node_rank)];
  if (client.is_away()) return come_back(hello, std::move(connection));
  client.attach(hello, std::move(connection));
  client.save(0);
  if (!all_have_attached()) return;
  place_when_known();
  start_stores();
}

void Server::client_hung_up(ClientLink& client) {
  const auto index = static_cast<std::uint32_t>(&client - clients_.data());
  // What it pushed before it died counts.
  take_last_events(index);
  client.close_socket();
  if (client.is_gone()) return;
  client_left(index, ClientLink::Phase::dead);
  client.save(iterations_.current(index));
}

// False when it has hung up.
bool Server::take_reports(ClientLink& client) {
  const auto index = static_cast<std::uint32_t>(&client - clients_.data());
  for (int i = 0; i < kMostAtOnce; ++i) {
    shm::Report report{};
    switch (platform::receive_message(client.socket(), &report, sizeof report, 0)) {
      case platform::Received::message:
        reports_.take(index, client.rank(), report, platform::now_ns());
        break;
      case platform::Received::nothing:
        return true;
      case platform::Received::closed:
        return false;
    }
  }
  return true;
}

// In the log, and on standard error where that is a file: those who look at neither look there.
void Server::say_reports(bool all) {
  if (!reports_.has_waiting()) return;
  const bool log_is_seen = model_.log.file.empty() && log_->should_log(spdlog::level::err);
  for (const ReportBook::Line& line : reports_.take_due(platform::now_ns(), all)) {
    log_->log(line.is_error ? spdlog::level::err : spdlog::level::warn, "{}", line.text);
    if (line.is_error && !log_is_seen) fmt::print(stderr, "leat: {}\n", line.text);
  }
}

void Server::client_left(std::uint32_t index, ClientLink::Phase how) {
  ClientLink& client = clients_[index];
  const bool died = how == ClientLink::Phase::dead;
  client.leave(how);
  count_untold(index);
  if (died) {
    reports_.died(client.rank(), iterations_.current(index), platform::now_ns());
    ledger_.client_died(client.rank(), iterations_.current(index));
  }
  forget_client(index, died);
  made_progress();
  serve_requests();
}

void Server::forget_client(std::uint32_t index, bool died) {
  iterations_.gone(index, died);
  offers_.client_gone(index);
  leases_.client_gone(index);
  steering_.client_gone(index);
}

void Server::stop_on_signal() {
  signalfd_siginfo info{};
  const ssize_t got = ::read(signals_.get(), &info, sizeof info);
  if (got != sizeof info) return;
  const auto half_ns = static_cast<std::int64_t>(model_.architecture.grace_seconds * 5e8);
  const std::int64_t now_ns = platform::now_ns();
  const bool at_once = take_until_ns_ != 0 || half_ns == 0;
  take_until_ns_ = at_once ? now_ns : now_ns + half_ns;
  scripts_until_ns_ = take_until_ns_ + half_ns / 2;
  if (at_once) return take_no_more();
  log_->warn(
      "got {}: what ranks hand over within {:.3g} s is taken, then stored; grace=\"...\" of "
      "<dedicated> says how long there is for both",
      strsignal(static_cast<int>(info.ssi_signo)), static_cast<double>(half_ns) / 1e9);
}

// Ends the run within the grace that there is after SIGTERM.
void Server::watch_grace() {
  const std::int64_t now_ns = platform::now_ns();
  if (now_ns >= take_until_ns_ && !all_gone()) take_no_more();
  if (now_ns >= scripts_until_ns_ && !scripts_.idle()) scripts_.abandon();
}

void Server::take_no_more() {
  log_->warn("told to end: storing what was handed over so far, then ending");
  for (ClientLink& client : clients_) {
    if (client.phase() == ClientLink::Phase::attached) client_hung_up(client);
    if (client.phase() == ClientLink::Phase::absent)
      never_came(static_cast<std::uint32_t>(&client - clients_.data()));
  }
}

// On one of several nodes the stores are opened when all ranks of it are known: what they write is
// called after the lowest. Its ranks that never attach are given up before there is anything to
// store.
void Server::start_stores() {
  if (pipeline_.is_started()) return;
  std::int32_t first = facts_.ranks - 1;
  for (const ClientLink& client : clients_) {
    const bool is_known = client.phase() != ClientLink::Phase::absent && !client.never_came();
    if (is_known) first = std::min(first, client.rank());
  }
  pipeline_.start(facts_.ranks == facts_.node_ranks ? 0 : first,
                  [drains = drains_] { drains->await_here(); });
}

}  // namespace leat::server
