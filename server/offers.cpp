// SPDX-License-Identifier: Apache-2.0
#include "server/offers.hpp"

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
  for (const shm::OfferGiver& slot : client.slots) bytes += slot.stands() ? slot.extent().bytes : 0;
  return bytes;
}

bool Offers::withdraw(std::uint32_t client, shm::OfferGiver& slot) {
  const bool is_ours = slot.withdraw();
  if (is_ours) leases_.seal(client, slot.extent().offset, 0);
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
  Client& owner = clients_[client];
  const std::uint64_t most = leases_.most_in_iteration(client);
  while (standing_bytes(owner) + bytes > most && withdraw_oldest(client)) {
  }
  shm::OfferGiver& slot = owner.slots[owner.next];
  withdraw(client, slot);
  const std::optional<shm::Extent> extent = leases_.give_ahead(client, bytes, flags);
  if (!extent) return;
  slot.offer(*extent, flags);
  owner.any = true;
  owner.next = (owner.next + 1) % owner.slots.size();
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
    if (const shm::Extent extent = slot.take_over(); extent.bytes != 0)
      withdrawn.push_back(extent.offset);
  }
  return withdrawn;
}

}  // namespace leat::server
