// SPDX-License-Identifier: Apache-2.0
#include "server/session/client_link.hpp"

#include <algorithm>

#include "lib/platform/futex.hpp"

namespace leat::server {

ClientLink::ClientLink(const shm::Segment& segment, std::uint32_t index, const model::Model& model)
    : segment_(segment),
      area_(segment.client(index)),
      events_(area_.events, segment.header().event_slots, area_.client->event_tail,
              area_.server->event_head),
      releases_(area_.releases, segment.header().release_slots, area_.server->release_tail,
                area_.client->release_head),
      index_(index),
      blocks_(segment, index, model) {
  hello_.rank = -1;
  events_.start_at(saved().events);
}

void ClientLink::attach(const shm::Hello& hello, std::unique_ptr<shm::ToClient> connection) {
  hello_ = hello;
  connection_ = std::move(connection);
  phase_ = Phase::attached;
  came_ = true;
}

void ClientLink::resume() {
  const std::uint32_t phase = saved().phase;
  phase_ = phase <= static_cast<std::uint32_t>(Phase::cut_off) ? static_cast<Phase>(phase)
                                                               : Phase::absent;
  came_ = phase_ != Phase::absent && saved().rank >= 0;
  if (came_) hello_.rank = saved().rank;
  failed_ = saved().failed;
  hello_.node_rank = static_cast<std::int32_t>(index_);
}

void ClientLink::come_back(const shm::Hello& hello, std::unique_ptr<shm::ToClient> connection) {
  came_ = true;
  hello_ = hello;
  connection_ = std::move(connection);
}

const shm::ClientRecord& ClientLink::saved() const noexcept {
  return area_.server->records[area_.server->record.load(std::memory_order_relaxed) & 1];
}

void ClientLink::save(std::int64_t iteration) noexcept {
  const std::uint32_t other = ~area_.server->record.load(std::memory_order_relaxed) & 1;
  area_.server->records[other] = {events_.taken(), iteration, static_cast<std::uint32_t>(phase_),
                                  came_ ? hello_.rank : -1, failed_};
  // Release: who sees which of the two holds, sees it whole. The slots are the client's again after
  // that only.
  area_.server->record.store(other, std::memory_order_release);
  events_.publish();
}

bool ClientLink::pop(shm::Event& event) noexcept { return events_.pop(event); }

bool ClientLink::release(const shm::Release& release) noexcept {
  const bool pushed = releases_.push(release);
  releases_.announce();
  wake_if_waiting();
  return pushed;
}

void ClientLink::wake_if_waiting() noexcept {
  if (!area_.client->waiting.load(std::memory_order_seq_cst)) return;
  area_.server->wake.fetch_add(1, std::memory_order_seq_cst);
  platform::futex_wake_all(area_.server->wake);
}

// A count that makes no sense is that of the client's own writes, and harms no other.
std::uint64_t ClientLink::take_untold() noexcept {
  const std::uint64_t all = area_.client->failed.load(std::memory_order_relaxed);
  const std::uint64_t untold = all > failed_ ? std::min(all - failed_, kMostUntold) : 0;
  failed_ += untold;
  return untold;
}

}  // namespace leat::server
