// SPDX-License-Identifier: Apache-2.0
#include "server/state/clients/clients.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/os/clock.hpp"

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
  os::futex_wake_all(area_.server->wake);
}

// A count that makes no sense is that of the client's own writes, and harms no other.
std::uint64_t ClientLink::take_untold() noexcept {
  const std::uint64_t all = area_.client->failed.load(std::memory_order_relaxed);
  const std::uint64_t untold = all > failed_ ? std::min(all - failed_, kMostUntold) : 0;
  failed_ += untold;
  return untold;
}

namespace {

// A client whose memory is corrupt must not fill the disk with lines about it.
constexpr int kMostComplaints = 100;

using Phase = ClientLink::Phase;

}  // namespace

Clients::Clients(const Run& run) : run_(run) {
  const auto count = static_cast<std::uint32_t>(run.facts.node_ranks);
  links_.reserve(count);
  complaints_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    links_.emplace_back(run.segment, i, run.model);
    if (run.facts.has_all_ranks()) links_.back().expect(static_cast<std::int32_t>(i));
  }
  if (run.facts.server != 0 || run.facts.drained) return;
  for (std::int32_t i = 0; i < run.facts.others_on_node; ++i)
    others_expected_.insert(run.facts.first_on_node + run.facts.node_ranks + i);
}

bool Clients::all_gone() const noexcept {
  return std::all_of(begin(), end(), [](const ClientLink& each) { return each.is_gone(); });
}

bool Clients::none_has_come() const noexcept {
  return std::all_of(begin(), end(), [](const ClientLink& c) { return c.never_came(); });
}

bool Clients::all_have_attached() const noexcept {
  return std::none_of(begin(), end(),
                      [](const ClientLink& each) { return each.phase() == Phase::absent; });
}

bool Clients::all_are_here() const noexcept {
  return std::all_of(begin(), end(), [](const ClientLink& each) {
    return each.connection() && each.phase() == Phase::attached;
  });
}

bool Clients::any_awaited() const noexcept {
  return std::any_of(begin(), end(), [](const ClientLink& each) { return each.is_awaited(); });
}

bool Clients::any_away() const noexcept {
  return std::any_of(begin(), end(), [](const ClientLink& each) {
    return each.is_away() && each.lives() && each.phase() != Phase::cut_off;
  });
}

bool Clients::any_speaks() noexcept {
  return std::any_of(begin(), end(), [](ClientLink& each) {
    return each.phase() == Phase::attached && each.has_events();
  });
}

bool Clients::is_expected(std::uint32_t index) const noexcept {
  return links_[index].phase() == Phase::absent && !links_[index].lives();
}

void Clients::other_came(std::int32_t node_rank) noexcept { others_expected_.erase(node_rank); }

std::vector<std::int32_t> Clients::others_seen() const {
  std::vector<std::int32_t> seen;
  if (run_.facts.server != 0) return seen;
  for (std::int32_t i = 0; i < run_.facts.others_on_node; ++i) {
    const std::int32_t rank = run_.facts.first_on_node + run_.facts.node_ranks + i;
    if (others_expected_.count(rank) == 0) seen.push_back(rank);
  }
  return seen;
}

Ranks Clients::known_ranks() const {
  std::vector<std::int32_t> known;
  for (const ClientLink& each : links_)
    if (each.phase() != Phase::absent && !each.never_came()) known.push_back(each.rank());
  std::sort(known.begin(), known.end());
  Ranks ranks;
  for (const std::int32_t rank : known) append_rank(&ranks, rank);
  return ranks;
}

std::string Clients::name_of(std::uint32_t index) const {
  const std::int32_t rank = links_[index].rank();
  if (rank >= 0) return "rank " + std::to_string(rank);
  return "the rank with number " +
         std::to_string(run_.facts.first_on_node + static_cast<std::int32_t>(index)) +
         " on this node";
}

void Clients::complain(std::uint32_t index, const std::string& what) {
  int& count = complaints_[index];
  if (count >= kMostComplaints) return;
  ++count;
  run_.log->error("rank {}: {}{}", links_[index].rank(), what,
                  count == kMostComplaints ? "; nothing more is said of what makes no sense" : "");
}

namespace {

using Phase = ClientLink::Phase;

bool can_signal(const ClientLink& client) {
  return client.phase() != Phase::dead && client.phase() != Phase::cut_off &&
         !(client.is_gone() && client.never_came());
}

}  // namespace

CallCounts::CallCounts(std::size_t events, const Clients& clients)
    : clients_(clients), counts_(events, std::vector<std::int64_t>(clients.size())) {}

std::int64_t CallCounts::least(std::size_t event) const {
  std::int64_t least = -1;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    const std::int64_t count = counts_[event][i];
    if (can_signal(clients_[i])) least = least < 0 ? count : std::min(least, count);
  }
  return least;
}

std::int64_t CallCounts::most(std::size_t event) const {
  return counts_[event].empty() ? 0
                                : *std::max_element(counts_[event].begin(), counts_[event].end());
}

std::string CallCounts::difference(std::size_t event) const {
  const std::vector<std::int64_t>& counts = counts_[event];
  const auto high = std::max_element(counts.begin(), counts.end());
  const auto low = std::min_element(counts.begin(), counts.end());
  const auto name_at = [&](auto at) {
    return clients_.name_of(static_cast<std::uint32_t>(at - counts.begin()));
  };
  const auto times = [](std::int64_t count) {
    return counted(static_cast<std::uint64_t>(count), "time");
  };
  return fmt::format("{} has signalled it {}, {} only {}", name_at(high), times(*high),
                     name_at(low), times(*low));
}

}  // namespace leat::server
