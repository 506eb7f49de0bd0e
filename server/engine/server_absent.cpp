// SPDX-License-Identifier: Apache-2.0
// Server: ranks that have yet to attach. They may be slow, be killed or be stopped on their way,
// and nobody can tell. The others' iterations stay open for them, as long as that costs nobody
// anything; once it does, they are waited for a while, once in the run, and then given up for good:
// the ledger says so, and so does leat_init to who comes later.
#include <algorithm>

#include "lib/platform/clock.hpp"
#include "server/engine/server.hpp"

namespace leat::server {
namespace {

// A process may take that long to start on a busy machine, whatever the timeout is.
constexpr std::int64_t kLeastNs = 2'000'000'000;
// Time between two looks counts up to here: there may be none for long.
constexpr std::int64_t kMostBetweenNs = 1'000'000'000;

}  // namespace

// One that lives had attached to the server before this one, and comes back.
bool Server::is_expected(const ClientLink& client) const noexcept {
  return client.phase() == ClientLink::Phase::absent && !client.lives();
}

bool Server::is_expected_before(std::int64_t iteration) const {
  const std::vector<std::uint32_t> behind = leases_.behind(iteration);
  return std::any_of(behind.begin(), behind.end(),
                     [this](std::uint32_t i) { return is_expected(clients_[i]); });
}

// Nobody else is left; or a rank waits for memory that nothing else will free.
bool Server::absence_hurts() const {
  const bool anybody = std::any_of(clients_.begin(), clients_.end(), [](const ClientLink& c) {
    return c.phase() == ClientLink::Phase::attached ||
           (c.phase() == ClientLink::Phase::absent && c.lives());
  });
  if (!anybody || refused_for_absent_) return true;
  const LeaseRequest* const unmet = leases_.first_unmet();
  return unmet && held_.empty() && !pipeline_.first_number() &&
         is_expected_before(unmet->iteration);
}

// Less than the timeout, so that who waits gets its memory.
std::int64_t Server::absence_limit_ns() const noexcept {
  return std::max(kLeastNs, static_cast<std::int64_t>(segment_.header().timeout_ns) / 4 * 3);
}

void Server::give_up_on_absent() {
  const bool expected = std::any_of(clients_.begin(), clients_.end(),
                                    [this](const ClientLink& c) { return is_expected(c); });
  if (!expected || closing_) return;
  const std::int64_t now = platform::now_ns();
  const std::int64_t before = std::exchange(hurt_seen_ns_, absence_hurts() ? now : 0);
  if (hurt_seen_ns_ == 0) return;
  if (before != 0) hurt_ns_ += std::min(now - before, kMostBetweenNs);
  if (hurt_ns_ < absence_limit_ns()) return;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    if (is_expected(clients_[i])) never_came(i);
  }
  place_when_known();
  made_progress();
  serve_requests();
}

void Server::never_came(std::uint32_t index) {
  ClientLink& client = clients_[index];
  log_->warn("{} has not come, and the others have waited for it: going on without it",
             name_of_rank(index));
  client.leave(ClientLink::Phase::dead);
  client.save(0);
  ledger_.client_never_came(static_cast<std::int32_t>(index));
  forget_client(index, true);
}

void Server::note_late_ranks() const {
  std::vector<std::int32_t> ranks;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i].never_came()) ranks.push_back(static_cast<std::int32_t>(i));
  }
  if (ranks.empty() || late_ranks_path_.empty()) return;
  platform::LateRanks late = late_ranks_;
  late.note(late_ranks_path_, ranks);
}

std::string Server::name_of_rank(std::uint32_t index) const {
  const ClientLink& client = clients_[index];
  if (client.rank() >= 0) return "rank " + std::to_string(client.rank());
  return "the rank with number " + std::to_string(index) + " on this node";
}

}  // namespace leat::server
