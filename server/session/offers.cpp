// SPDX-License-Identifier: Apache-2.0
#include "server/session/offers.hpp"

#include <algorithm>
#include <utility>

namespace leat::server {

Offers::Offers(const shm::Segment& segment, LeaseBook& leases)
    : leases_(leases), clients_(segment.header().client_count) {
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    for (shm::OfferSlot& slot : segment.client(i).offers) clients_[i].slots.emplace_back(slot);
  }
}

std::uint64_t Offers::standing_bytes(const Client& client) noexcept {
  std::uint64_t bytes = 0;
  for (const shm::OfferGiver& slot : client.slots) bytes += slot.stands() ? slot.region().bytes : 0;
  return bytes;
}

bool Offers::withdraw(std::uint32_t client, shm::OfferGiver& slot) {
  const bool is_ours = slot.withdraw();
  if (is_ours) leases_.regions().seal(client, slot.region().offset, 0);
  return is_ours;
}

bool Offers::withdraw_oldest(std::uint32_t client) {
  Client& owner = clients_[client];
  const std::size_t count = owner.slots.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (withdraw(client, owner.slots[(owner.next + i) % count])) return true;
  }
  return false;
}

// What nobody has claimed for long is of a size that is not written any more: it makes way.
void Offers::replace(std::uint32_t client, std::uint64_t bytes, std::uint32_t flags) {
  const Kind kind{bytes, flags};
  ++clients_[client].used[kind].now;
  while (!has_room_for(client, kind) && withdraw_oldest(client)) {
  }
  offer(client, kind);
}

bool Offers::has_room_for(std::uint32_t client, const Kind& kind) const noexcept {
  return standing_bytes(clients_[client]) + kind.first <= leases_.most_in_iteration(client);
}

// One that was replaced at once may have been claimed in the same iteration already: then fewer
// stand than the next one needs.
void Offers::iteration_ended(std::uint32_t client) {
  Client& owner = clients_[client];
  if (owner.used.size() > shm::kOffers) owner.used.clear();  // sizes that do not come again
  for (auto& [kind, used] : owner.used) {
    used.most = std::max(used.most, std::exchange(used.now, 0));
    for (std::uint32_t each = standing(owner, kind); each < used.most; ++each) {
      if (!has_room_for(client, kind) || !offer(client, kind)) return;
    }
  }
}

std::uint32_t Offers::standing(const Client& client, const Kind& kind) noexcept {
  std::uint32_t count = 0;
  for (const shm::OfferGiver& slot : client.slots)
    count += slot.stands() && slot.region().bytes == kind.first && slot.flags() == kind.second;
  return count;
}

bool Offers::offer(std::uint32_t client, const Kind& kind) {
  const auto [bytes, flags] = kind;
  Client& owner = clients_[client];
  shm::OfferGiver& slot = owner.slots[owner.next];
  withdraw(client, slot);
  const std::optional<shm::Region> region = leases_.give_ahead(client, bytes, flags);
  if (!region) return false;
  slot.offer(*region, flags);
  owner.any = true;
  owner.next = (owner.next + 1) % owner.slots.size();
  return true;
}

bool Offers::withdraw_all() {
  bool any = false;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    if (!std::exchange(clients_[i].any, false)) continue;
    for (shm::OfferGiver& slot : clients_[i].slots) any |= withdraw(i, slot);
  }
  return any;
}

void Offers::client_gone(std::uint32_t client) {
  for (shm::OfferGiver& slot : clients_[client].slots) withdraw(client, slot);
}

std::vector<std::uint64_t> Offers::take_over(std::uint32_t client) {
  std::vector<std::uint64_t> withdrawn;
  for (shm::OfferGiver& slot : clients_[client].slots) {
    if (const shm::Region region = slot.take_over(); region.bytes != 0)
      withdrawn.push_back(region.offset);
  }
  return withdrawn;
}

}  // namespace leat::server
