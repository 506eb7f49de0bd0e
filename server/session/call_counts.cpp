// SPDX-License-Identifier: Apache-2.0
#include "server/session/call_counts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/words.hpp"

namespace leat::server {
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

nlohmann::json CallCounts::in_words() const { return counts_; }

void CallCounts::take_words(const nlohmann::json& words) {
  counts_ = words.get<std::vector<std::vector<std::int64_t>>>();
}

}  // namespace leat::server
