// SPDX-License-Identifier: Apache-2.0
#include "server/state/memory/lease_book.hpp"

#include <algorithm>

namespace leat::server {
namespace {

bool is_served_before(const LeaseRequest& a, const LeaseRequest& b) {
  if (a.is_ahead() != b.is_ahead()) return b.is_ahead();
  return a.iteration < b.iteration;
}

}  // namespace

bool LeaseRequests::add(const LeaseRequest& request) {
  // The client now needs what it had asked for ahead: one request, not two.
  const auto same = std::find_if(waiting_.begin(), waiting_.end(), [&](const LeaseRequest& w) {
    return w.client == request.client && !w.is_own() && !request.is_own();
  });
  if (same != waiting_.end()) waiting_.erase(same);
  const auto waits = std::count_if(waiting_.begin(), waiting_.end(), [&](const LeaseRequest& w) {
    return w.client == request.client;
  });
  if (waits >= kMost) return false;
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), request, is_served_before),
                  request);
  return true;
}

void LeaseRequests::forget(std::uint32_t client) {
  std::erase_if(waiting_, [&](const LeaseRequest& w) { return w.client == client; });
}

LeaseRequest LeaseRequests::take_first() {
  const LeaseRequest first = waiting_.front();
  waiting_.erase(waiting_.begin());
  return first;
}

const LeaseRequest* LeaseRequests::first_unmet() const noexcept {
  return waiting_.empty() || waiting_.front().is_ahead() ? nullptr : &waiting_.front();
}

std::vector<std::uint32_t> LeaseRequests::waiting_clients() const {
  std::vector<std::uint32_t> clients;
  for (const LeaseRequest& request : waiting_) {
    const bool is_known =
        std::find(clients.begin(), clients.end(), request.client) != clients.end();
    if (!request.is_ahead() && !is_known) clients.push_back(request.client);
  }
  return clients;
}

std::vector<LeaseRequest> LeaseRequests::take_unmet_of(std::int64_t iteration) {
  std::vector<LeaseRequest> taken;
  std::erase_if(waiting_, [&](const LeaseRequest& request) {
    const bool is_one = !request.is_ahead() && request.iteration == iteration;
    if (is_one) taken.push_back(request);
    return is_one;
  });
  return taken;
}

std::vector<LeaseRequest> LeaseRequests::take_overdue(std::int64_t before_ns) {
  std::vector<LeaseRequest> overdue;
  for (LeaseRequest& request : waiting_) {
    if (request.is_ahead() || request.was_said || request.since_ns > before_ns) continue;
    request.was_said = true;
    overdue.push_back(request);
  }
  return overdue;
}

CatchUp::CatchUp(const LeasedRegions& regions, std::uint32_t clients)
    : regions_(regions), clients_(clients) {
  if (clients > 0) in_[0] = clients;
}

void CatchUp::block_came(std::uint32_t client, std::uint64_t bytes) {
  clients_[client].this_iteration += bytes;
  update_need(clients_[client]);
}

void CatchUp::begin_at(std::uint32_t client, std::int64_t iteration) {
  clients_[client].has_begun = true;
  move_to(clients_[client], iteration);
  for (Client& each : clients_)
    if (!each.has_begun && !each.gone && each.iteration < iteration) move_to(each, iteration);
}

void CatchUp::iteration_ended(std::uint32_t client, std::int64_t iteration) {
  Client& owner = clients_[client];
  owner.is_fresh = false;
  owner.peak = std::max(owner.peak, owner.this_iteration);
  owner.this_iteration = 0;
  if (has_gaps_from_ != INT64_MAX) {
    was_in(iteration);
    there_.erase(there_.begin(), there_.lower_bound(least()));
  }
  move_to(owner, iteration + 1);
}

void CatchUp::skip_to(std::uint32_t client, std::int64_t iteration) {
  if (has_gaps_from_ == INT64_MAX) {
    has_gaps_from_ = 0;
    for (const Client& each : clients_)
      if (!each.gone) has_gaps_from_ = std::max(has_gaps_from_, each.iteration);
    is_stale_ = true;
  }
  move_to(clients_[client], iteration);
}

void CatchUp::client_gone(std::uint32_t client) {
  Client& owner = clients_[client];
  if (!owner.gone) leave(owner);
  owner.gone = true;
  update_need(owner);
}

void CatchUp::resume(std::uint32_t client, std::int64_t iteration, std::uint64_t peak) {
  Client& owner = clients_[client];
  owner.this_iteration = 0;
  owner.peak = peak;
  owner.is_fresh = iteration == 0;
  has_gaps_from_ = 0;
  is_stale_ = true;
  move_to(owner, iteration);
}

void CatchUp::move_to(Client& client, std::int64_t iteration) {
  if (!client.gone) {
    leave(client);
    ++in_[iteration];
  }
  client.iteration = iteration;
  update_need(client);
}

void CatchUp::leave(const Client& client) {
  if (--in_[client.iteration] == 0) in_.erase(client.iteration);
}

std::vector<std::uint32_t> CatchUp::behind(std::int64_t iteration) const {
  std::vector<std::uint32_t> clients;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    if (!clients_[i].gone && clients_[i].iteration < iteration) clients.push_back(i);
  }
  return clients;
}

std::uint64_t CatchUp::most_in_iteration(std::uint32_t client) const noexcept {
  return std::max(clients_[client].peak, clients_[client].this_iteration);
}

std::uint64_t CatchUp::need_of(const Client& client) const {
  if (client.gone || client.iteration >= reserved_until_) return 0;
  const std::uint64_t even_share = regions_.total_bytes() / clients_.size();
  const std::uint64_t per_iteration = client.is_fresh ? even_share : client.peak;
  const std::uint64_t all = per_iteration * iterations_in(client.iteration, reserved_until_);
  return all - std::min(all, client.this_iteration);
}

// Whoever is in `end` has ended all before it that are iterations. At most as many as memory has room for.
std::uint64_t CatchUp::iterations_in(std::int64_t first, std::int64_t end) const {
  constexpr std::int64_t kMostCounted = 1024;
  std::int64_t count = std::max<std::int64_t>(0, std::min(end, has_gaps_from_) - first);
  for (auto at = there_.lower_bound(std::max(first, has_gaps_from_));
       at != there_.end() && *at < end && count < kMostCounted; ++at)
    ++count;
  return static_cast<std::uint64_t>(std::min(count, kMostCounted));
}

void CatchUp::update_need(Client& client) {
  const std::uint64_t need = need_of(client);
  reserved_ += need - client.need;
  client.need = need;
}

std::uint64_t CatchUp::needed_until(std::int64_t iteration) {
  if (iteration <= least()) return 0;
  if (iteration != reserved_until_ || is_stale_) {
    reserved_until_ = iteration;
    is_stale_ = false;
    for (Client& each : clients_) update_need(each);
  }
  return reserved_;
}

std::uint64_t CatchUp::needed_beside(std::uint32_t client) {
  const std::uint64_t all = needed_until(clients_[client].iteration + 1);
  return all - std::min(all, clients_[client].need);
}

namespace {

// Of all memory, what nobody is given who has not asked for it.
constexpr std::uint64_t kLeftOfAhead = 4;
// Of a block, what whole units and the ends of regions take in addition.
constexpr std::uint64_t kRoundedUp = 4;

}  // namespace

LeaseBook::LeaseBook(const shm::SegmentHeader& header, std::uint32_t clients,
                     shm::LeaseTable* table)
    : regions_(header, clients, table),
      catch_up_(regions_, clients),
      common_bytes_(header.region_bytes) {}

bool LeaseBook::request(const LeaseRequest& request) {
  if (catch_up_.is_gone(request.client)) return true;
  LeaseRequest checked = request;
  // Common regions have one size; what the event says is a client's word.
  if (!request.is_own()) checked.bytes = common_bytes_;
  return requests_.add(checked);
}

bool LeaseBook::may_have(const LeaseRequest& request) {
  const std::uint64_t left = catch_up_.needed_until(request.iteration);
  return left == 0 || regions_.has_free(request.bytes, left);
}

std::vector<Grant> LeaseBook::serve() {
  std::vector<Grant> grants;
  while (const LeaseRequest* const first = requests_.first()) {
    std::optional<shm::Region> region;
    if (may_have(*first)) region = regions_.lease(first->client, first->bytes, first->flags);
    // Nobody overtakes: a large request of an old iteration would starve behind small ones.
    if (!region) break;
    grants.push_back({requests_.take_first(), *region});
  }
  return grants;
}

std::optional<shm::Region> LeaseBook::awaited_memory() {
  const LeaseRequest* const first = requests_.first_unmet();
  if (!first || !may_have(*first)) return std::nullopt;
  return regions_.awaited(first->client, first->bytes, first->flags);
}

std::optional<LeaseRequest> LeaseBook::take_hopeless(std::int64_t oldest_unfinished) {
  const LeaseRequest* const first = requests_.first_unmet();
  const bool has_hope = !first || first->iteration > oldest_unfinished ||
                        catch_up_.least() < first->iteration;  // somebody is behind
  if (has_hope) return std::nullopt;
  return requests_.take_first();
}

std::optional<shm::Region> LeaseBook::give_ahead(std::uint32_t client, std::uint64_t bytes,
                                                 std::uint32_t flags) {
  if (catch_up_.is_gone(client) || requests_.first()) return std::nullopt;
  // It is for the next iteration: what others need to come that far is not given away.
  const std::uint64_t left =
      std::max(catch_up_.needed_beside(client), regions_.total_bytes() / kLeftOfAhead);
  if (!regions_.has_free(bytes, left)) return std::nullopt;
  return regions_.lease(client, bytes, flags);
}

std::uint64_t LeaseBook::most_in_iteration(std::uint32_t client) const noexcept {
  const std::uint64_t blocks = catch_up_.most_in_iteration(client);
  return blocks + blocks / kRoundedUp + 2 * common_bytes_;
}

void LeaseBook::block_came(std::uint32_t client, std::uint64_t region, std::uint64_t bytes) {
  regions_.block_came(client, region, bytes);
  catch_up_.block_came(client, bytes);
}

void LeaseBook::client_gone(std::uint32_t client) {
  catch_up_.client_gone(client);
  requests_.forget(client);
  regions_.client_gone(client);
}

}  // namespace leat::server
