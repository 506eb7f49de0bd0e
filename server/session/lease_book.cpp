// SPDX-License-Identifier: Apache-2.0
#include "server/session/lease_book.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace leat::server {
namespace {

// Of all memory, what nobody is given who has not asked for it.
constexpr std::uint64_t kLeftOfAhead = 4;
// Of a block, what whole units and the ends of regions take in addition.
constexpr std::uint64_t kRoundedUp = 4;

bool is_ahead(const LeaseRequest& request) { return (request.flags & shm::kLeaseAhead) != 0; }
bool is_own(const LeaseRequest& request) { return (request.flags & shm::kLeaseOwn) != 0; }

bool comes_before(const LeaseRequest& a, const LeaseRequest& b) {
  if (is_ahead(a) != is_ahead(b)) return is_ahead(b);
  return a.iteration < b.iteration;
}

}  // namespace

LeaseBook::LeaseBook(const shm::SegmentHeader& header, std::uint32_t clients,
                     shm::LeaseTable* table)
    : pool_(header.data_offset, header.data_bytes, header.unit_bytes),
      common_bytes_(header.region_bytes),
      clients_(clients),
      table_(table) {
  if (clients > 0) in_[0] = clients;
}

bool LeaseBook::adopt(const shm::Lease& lease) {
  if (!pool_.take_at(lease.region)) return false;
  Client& client = clients_[lease.client];
  client.leases[lease.region.offset] =
      Lease{lease.region.bytes, (lease.flags & shm::kLeaseOwn) != 0, true};
  client.held += lease.region.bytes;
  return true;
}

void LeaseBook::resume(std::uint32_t client, std::int64_t iteration, std::uint64_t peak) {
  Client& owner = clients_[client];
  owner.this_iteration = 0;
  owner.peak = peak;
  move_to(owner, iteration);
}

std::vector<shm::Region> LeaseBook::adopted(std::uint32_t client, bool own) const {
  std::vector<shm::Region> regions;
  for (const auto& [offset, lease] : clients_[client].leases) {
    if (lease.adopted && lease.own == own) regions.push_back({offset, lease.bytes});
  }
  return regions;
}

bool LeaseBook::request(const LeaseRequest& request) {
  LeaseRequest checked = request;
  if (clients_[request.client].gone) return true;
  // Common regions have one size; what the event says is a client's word.
  if (!is_own(request)) checked.bytes = common_bytes_;
  // The client now needs what it had asked for ahead: one request, not two.
  const auto same = std::find_if(waiting_.begin(), waiting_.end(), [&](const LeaseRequest& w) {
    return w.client == checked.client && !is_own(w) && !is_own(checked);
  });
  if (same != waiting_.end()) waiting_.erase(same);
  const auto waits = std::count_if(waiting_.begin(), waiting_.end(), [&](const LeaseRequest& w) {
    return w.client == checked.client;
  });
  if (waits >= kMostRequests) return false;
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), checked, comes_before),
                  checked);
  return true;
}

// How many bytes a client will still take until it has ended `until_iteration - 1`.
std::uint64_t LeaseBook::still_needed(const Client& behind, std::int64_t until_iteration) const {
  if (behind.gone || behind.iteration >= until_iteration) return 0;
  const std::uint64_t even_share = pool_.total_bytes() / clients_.size();
  const std::uint64_t per_iteration = behind.iteration == 0 ? even_share : behind.peak;
  const auto lag = static_cast<std::uint64_t>(until_iteration - behind.iteration);
  const std::uint64_t all = per_iteration * std::min<std::uint64_t>(lag, 1024);
  return all - std::min(all, behind.this_iteration);
}

void LeaseBook::note_need(Client& client) {
  const std::uint64_t need = still_needed(client, reserved_until_);
  reserved_ += need - client.need;
  client.need = need;
}

void LeaseBook::move_to(Client& client, std::int64_t iteration) {
  if (!client.gone) {
    if (--in_[client.iteration] == 0) in_.erase(client.iteration);
    ++in_[iteration];
  }
  client.iteration = iteration;
  note_need(client);
}

std::uint64_t LeaseBook::reserved_for_others(const LeaseRequest& request) {
  if (request.iteration <= least()) return 0;
  if (request.iteration != reserved_until_) {
    reserved_until_ = request.iteration;
    for (Client& each : clients_) note_need(each);
  }
  return reserved_;
}

bool LeaseBook::may_have(const LeaseRequest& request) {
  const std::uint64_t reserved = reserved_for_others(request);
  if (reserved == 0) return true;
  return pool_.free_bytes() >= reserved &&
         pool_.free_bytes() - reserved >= pool_.round_up(request.bytes);
}

bool LeaseBook::grant(const LeaseRequest& request, Grant* grant) {
  if (!may_have(request)) return false;
  const auto region = lease(request.client, request.bytes, request.flags);
  if (region) *grant = Grant{request, *region};
  return region.has_value();
}

std::optional<shm::Region> LeaseBook::lease(std::uint32_t client, std::uint64_t bytes,
                                            std::uint32_t flags) {
  const bool own = (flags & shm::kLeaseOwn) != 0;
  Client& owner = clients_[client];
  const std::optional<shm::Region> region =
      own ? pool_.take_high(bytes, owner.near) : pool_.take_low(bytes, owner.near);
  if (!region) return std::nullopt;
  owner.leases[region->offset] = Lease{region->bytes, own};
  owner.held += region->bytes;
  if (table_) table_->note(*region, client, flags);
  return region;
}

std::optional<shm::Region> LeaseBook::give_ahead(std::uint32_t client, std::uint64_t bytes,
                                                 std::uint32_t flags) {
  const Client& owner = clients_[client];
  if (owner.gone || !waiting_.empty()) return std::nullopt;
  // It is for the next iteration: what others need to come that far is not given away.
  std::uint64_t reserved = reserved_for_others({client, flags, owner.iteration + 1, bytes});
  reserved -= std::min(reserved, owner.need);
  const std::uint64_t left = std::max(reserved, pool_.total_bytes() / kLeftOfAhead);
  if (pool_.free_bytes() < left + pool_.round_up(bytes)) return std::nullopt;
  return lease(client, bytes, flags);
}

std::uint64_t LeaseBook::most_in_iteration(std::uint32_t client) const noexcept {
  const Client& owner = clients_[client];
  const std::uint64_t blocks = std::max(owner.peak, owner.this_iteration);
  return blocks + blocks / kRoundedUp + 2 * common_bytes_;
}

std::vector<Grant> LeaseBook::serve() {
  std::vector<Grant> grants;
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    Grant given;
    if (!grant(*next, &given)) {
      // Nobody overtakes: a large request of an old iteration would starve behind small ones.
      break;
    }
    grants.push_back(given);
    next = waiting_.erase(next);
  }
  return grants;
}

std::optional<LeaseRequest> LeaseBook::take_hopeless(std::int64_t oldest_unfinished) {
  if (waiting_.empty()) return std::nullopt;
  const LeaseRequest first = waiting_.front();
  const bool somebody_is_behind = least() < first.iteration;
  if (is_ahead(first) || first.iteration > oldest_unfinished || somebody_is_behind) {
    return std::nullopt;
  }
  waiting_.erase(waiting_.begin());
  return first;
}

const LeaseRequest* LeaseBook::first_unmet() const noexcept {
  return waiting_.empty() || is_ahead(waiting_.front()) ? nullptr : &waiting_.front();
}

std::optional<shm::Region> LeaseBook::awaited_memory() {
  const LeaseRequest* const first = first_unmet();
  if (!first || !may_have(*first)) return std::nullopt;
  const std::vector<shm::Region>& near = clients_[first->client].near;
  const std::optional<shm::Region> place =
      is_own(*first) ? pool_.place_high(first->bytes, near) : pool_.place_low(first->bytes, near);
  return place && pool_.is_missing(*place) ? place : std::nullopt;
}

LeaseRequest LeaseBook::take_first_unmet() {
  const LeaseRequest first = waiting_.front();
  waiting_.erase(waiting_.begin());
  return first;
}

std::vector<LeaseRequest> LeaseBook::take_unmet_of(std::int64_t iteration) {
  std::vector<LeaseRequest> taken;
  std::erase_if(waiting_, [&](const LeaseRequest& request) {
    const bool is_one = !is_ahead(request) && request.iteration == iteration;
    if (is_one) taken.push_back(request);
    return is_one;
  });
  return taken;
}

std::uint64_t LeaseBook::region_of(std::uint32_t client, std::uint64_t offset,
                                   std::uint64_t bytes) const {
  const auto& leases = clients_[client].leases;
  auto after = leases.upper_bound(offset);
  if (after == leases.begin()) return 0;
  const auto& [start, lease] = *std::prev(after);
  const std::uint64_t skipped = offset - start;
  if (skipped > lease.bytes || bytes > lease.bytes - skipped) return 0;
  if (bytes > lease.bytes - lease.came_bytes) return 0;
  return start;
}

const LeaseBook::Lease* LeaseBook::find(std::uint32_t client, std::uint64_t region) const {
  const auto found = clients_[client].leases.find(region);
  return found == clients_[client].leases.end() ? nullptr : &found->second;
}

std::uint64_t LeaseBook::bytes_of(std::uint32_t client, std::uint64_t region) const {
  const Lease* const lease = find(client, region);
  return lease ? lease->bytes : 0;
}

std::uint64_t LeaseBook::bytes_of_own(std::uint32_t client, std::uint64_t region) const {
  const Lease* const lease = find(client, region);
  return lease && lease->own ? lease->bytes : 0;
}

void LeaseBook::seal(std::uint32_t client, std::uint64_t region, std::uint64_t blocks) {
  const auto found = clients_[client].leases.find(region);
  if (found == clients_[client].leases.end()) return;
  found->second.sealed = true;
  found->second.expected = blocks;
  free_if_done(clients_[client], region);
}

void LeaseBook::block_came(std::uint32_t client, std::uint64_t region, std::uint64_t bytes) {
  Client& owner = clients_[client];
  Lease& lease = owner.leases.at(region);
  ++lease.came;
  lease.came_bytes += bytes;
  ++lease.live;
  owner.this_iteration += bytes;
  note_need(owner);
  if (lease.own) {
    lease.sealed = true;
    lease.expected = 1;
  }
}

void LeaseBook::block_released(std::uint32_t client, std::uint64_t region) {
  Client& owner = clients_[client];
  Lease& lease = owner.leases.at(region);
  if (--lease.live == 0 && lease.sealed) free_if_done(owner, region);
}

void LeaseBook::free_if_done(Client& client, std::uint64_t region) {
  const auto found = client.leases.find(region);
  const Lease& lease = found->second;
  if (!lease.sealed || lease.live != 0 || lease.came < lease.expected) return;
  if (table_) table_->clear(region);
  pool_.give_back({region, lease.bytes});
  client.held -= lease.bytes;
  client.leases.erase(found);
}

void LeaseBook::iteration_ended(std::uint32_t client, std::int64_t iteration) {
  Client& owner = clients_[client];
  owner.peak = std::max(owner.peak, owner.this_iteration);
  owner.this_iteration = 0;
  move_to(owner, iteration + 1);
}

void LeaseBook::client_gone(std::uint32_t client) {
  Client& owner = clients_[client];
  if (!owner.gone && --in_[owner.iteration] == 0) in_.erase(owner.iteration);
  owner.gone = true;
  note_need(owner);
  std::erase_if(waiting_, [&](const LeaseRequest& w) { return w.client == client; });
  std::vector<std::uint64_t> regions;
  for (auto& [offset, lease] : owner.leases) {
    lease.sealed = true;
    lease.expected = lease.came;
    regions.push_back(offset);
  }
  for (const std::uint64_t region : regions) free_if_done(owner, region);
}

bool LeaseBook::somebody_waits() const noexcept {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [](const LeaseRequest& request) { return !is_ahead(request); });
}

std::vector<LeaseRequest> LeaseBook::take_overdue(std::int64_t before_ns) {
  std::vector<LeaseRequest> overdue;
  for (LeaseRequest& request : waiting_) {
    if (is_ahead(request) || request.was_said || request.since_ns > before_ns) continue;
    request.was_said = true;
    overdue.push_back(request);
  }
  return overdue;
}

std::vector<std::uint32_t> LeaseBook::behind(std::int64_t iteration) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    if (!clients_[i].gone && clients_[i].iteration < iteration) ranks.push_back(i);
  }
  return ranks;
}

}  // namespace leat::server
