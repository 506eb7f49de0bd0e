// SPDX-License-Identifier: Apache-2.0
#include "server/session/catch_up.hpp"

#include <algorithm>

namespace leat::server {

CatchUp::CatchUp(const LeasedRegions& regions, std::uint32_t clients)
    : regions_(regions), clients_(clients) {
  if (clients > 0) in_[0] = clients;
}

void CatchUp::block_came(std::uint32_t client, std::uint64_t bytes) {
  clients_[client].this_iteration += bytes;
  note_need(clients_[client]);
}

void CatchUp::iteration_ended(std::uint32_t client, std::int64_t iteration) {
  Client& owner = clients_[client];
  owner.peak = std::max(owner.peak, owner.this_iteration);
  owner.this_iteration = 0;
  move_to(owner, iteration + 1);
}

void CatchUp::client_gone(std::uint32_t client) {
  Client& owner = clients_[client];
  if (!owner.gone) leave(owner);
  owner.gone = true;
  note_need(owner);
}

void CatchUp::resume(std::uint32_t client, std::int64_t iteration, std::uint64_t peak) {
  Client& owner = clients_[client];
  owner.this_iteration = 0;
  owner.peak = peak;
  move_to(owner, iteration);
}

void CatchUp::move_to(Client& client, std::int64_t iteration) {
  if (!client.gone) {
    leave(client);
    ++in_[iteration];
  }
  client.iteration = iteration;
  note_need(client);
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
  const std::uint64_t per_iteration = client.iteration == 0 ? even_share : client.peak;
  const auto lag = static_cast<std::uint64_t>(reserved_until_ - client.iteration);
  const std::uint64_t all = per_iteration * std::min<std::uint64_t>(lag, 1024);
  return all - std::min(all, client.this_iteration);
}

void CatchUp::note_need(Client& client) {
  const std::uint64_t need = need_of(client);
  reserved_ += need - client.need;
  client.need = need;
}

std::uint64_t CatchUp::needed_until(std::int64_t iteration) {
  if (iteration <= least()) return 0;
  if (iteration != reserved_until_) {
    reserved_until_ = iteration;
    for (Client& each : clients_) note_need(each);
  }
  return reserved_;
}

std::uint64_t CatchUp::needed_beside(std::uint32_t client) {
  const std::uint64_t all = needed_until(clients_[client].iteration + 1);
  return all - std::min(all, clients_[client].need);
}

}  // namespace leat::server
