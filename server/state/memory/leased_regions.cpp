// SPDX-License-Identifier: Apache-2.0
#include "server/state/memory/leased_regions.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace leat::server {

BlockPins::BlockPins(std::function<void()> wake)
    : queue_(std::make_shared<Queue>(std::move(wake))) {}

// Once for all that is taken together: a wake-up is a system call.
BlockPins::Pin::~Pin() {
  bool is_first = false;
  {
    const std::lock_guard<std::mutex> lock(queue->mutex);
    queue->returned.push_back(std::move(blocks));
    // The lock orders what it stands for.
    is_first = !queue->any.exchange(true, std::memory_order_relaxed);
  }
  if (is_first) queue->wake();
}

void BlockPins::pin(Iteration* iteration) {
  const auto& blocks = iteration->blocks;
  for (auto first = blocks.begin(); first != blocks.end();) {
    auto last = first;
    while (last != blocks.end() && last->variable == first->variable) ++last;
    iteration->pins.emplace(
        first->variable, std::shared_ptr<Pin>(new Pin{queue_, {iteration->number, {first, last}}}));
    first = last;
  }
}

std::vector<Returned> BlockPins::take_returned() {
  if (!any_returned()) return {};
  const std::lock_guard<std::mutex> lock(queue_->mutex);
  queue_->any.store(false, std::memory_order_relaxed);
  return std::exchange(queue_->returned, {});
}

namespace {

bool is_own(std::uint32_t flags) { return (flags & shm::kLeaseOwn) != 0; }

}  // namespace

bool LeasedRegions::adopt(const shm::Lease& lease) {
  if (!pool_.take_at(lease.region)) return false;
  clients_[lease.client].leases[lease.region.offset] =
      Lease{lease.region.bytes, is_own(lease.flags), true};
  return true;
}

std::vector<shm::Region> LeasedRegions::adopted(std::uint32_t client, bool own) const {
  std::vector<shm::Region> regions;
  for (const auto& [offset, lease] : clients_[client].leases) {
    if (lease.adopted && lease.own == own) regions.push_back({offset, lease.bytes});
  }
  return regions;
}

std::optional<shm::Region> LeasedRegions::lease(std::uint32_t client, std::uint64_t bytes,
                                                std::uint32_t flags) {
  Client& owner = clients_[client];
  const std::optional<shm::Region> region =
      is_own(flags) ? pool_.take_high(bytes, owner.near) : pool_.take_low(bytes, owner.near);
  if (!region) return std::nullopt;
  owner.leases[region->offset] = Lease{region->bytes, is_own(flags)};
  most_used_ = std::max(most_used_, used_bytes());
  if (table_) table_->note(*region, client, flags);
  return region;
}

std::optional<shm::Region> LeasedRegions::awaited(std::uint32_t client, std::uint64_t bytes,
                                                  std::uint32_t flags) const {
  const std::vector<shm::Region>& near = clients_[client].near;
  const std::optional<shm::Region> place =
      is_own(flags) ? pool_.place_high(bytes, near) : pool_.place_low(bytes, near);
  return place && pool_.is_missing(*place) ? place : std::nullopt;
}

std::uint64_t LeasedRegions::region_of(std::uint32_t client, std::uint64_t offset,
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

const LeasedRegions::Lease* LeasedRegions::find(std::uint32_t client, std::uint64_t region) const {
  const auto found = clients_[client].leases.find(region);
  return found == clients_[client].leases.end() ? nullptr : &found->second;
}

std::uint64_t LeasedRegions::bytes_of(std::uint32_t client, std::uint64_t region) const {
  const Lease* const lease = find(client, region);
  return lease ? lease->bytes : 0;
}

std::uint64_t LeasedRegions::bytes_of_own(std::uint32_t client, std::uint64_t region) const {
  const Lease* const lease = find(client, region);
  return lease && lease->own ? lease->bytes : 0;
}

void LeasedRegions::seal(std::uint32_t client, std::uint64_t region, std::uint64_t blocks) {
  const auto found = clients_[client].leases.find(region);
  if (found == clients_[client].leases.end()) return;
  found->second.sealed = true;
  found->second.expected = blocks;
  free_if_done(clients_[client], region);
}

void LeasedRegions::block_came(std::uint32_t client, std::uint64_t region, std::uint64_t bytes) {
  Lease& lease = clients_[client].leases.at(region);
  ++lease.came;
  lease.came_bytes += bytes;
  ++lease.live;
  if (lease.own) {
    lease.sealed = true;
    lease.expected = 1;
  }
}

void LeasedRegions::block_released(std::uint32_t client, std::uint64_t region) {
  Client& owner = clients_[client];
  Lease& lease = owner.leases.at(region);
  if (--lease.live == 0 && lease.sealed) free_if_done(owner, region);
}

void LeasedRegions::free_if_done(Client& client, std::uint64_t region) {
  const auto found = client.leases.find(region);
  const Lease& lease = found->second;
  if (!lease.sealed || lease.live != 0 || lease.came < lease.expected) return;
  if (table_) table_->clear(region);
  pool_.give_back({region, lease.bytes});
  client.leases.erase(found);
}

void LeasedRegions::client_gone(std::uint32_t client) {
  Client& owner = clients_[client];
  std::vector<std::uint64_t> regions;
  for (auto& [offset, lease] : owner.leases) {
    lease.sealed = true;
    lease.expected = lease.came;
    regions.push_back(offset);
  }
  for (const std::uint64_t region : regions) free_if_done(owner, region);
}

}  // namespace leat::server
