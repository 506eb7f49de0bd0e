// SPDX-License-Identifier: Apache-2.0
#include "server/session/clients.hpp"

#include <algorithm>

namespace leat::server {
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

std::int32_t Clients::lowest_rank() const noexcept {
  std::int32_t lowest = run_.facts.ranks - 1;
  for (const ClientLink& each : links_) {
    const bool is_known = each.phase() != Phase::absent && !each.never_came();
    if (is_known) lowest = std::min(lowest, each.rank());
  }
  return lowest;
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

}  // namespace leat::server
