// SPDX-License-Identifier: Apache-2.0
#include "server/session/said_signals.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace leat::server {
namespace {

// A rank that signals without end keeps no more than this in order.
constexpr std::size_t kMostInOrder = std::size_t{1} << 16;

}  // namespace

void SaidSignals::keep(const SaidSignal& said) {
  const auto is_like = [&](const SaidSignal& each) {
    return each.iteration == said.iteration && each.client == said.client &&
           each.event == said.event;
  };
  auto like = said_.end();
  if (!said_.empty() && is_like(said_.back())) like = std::prev(said_.end());
  if (said_.size() >= kMostInOrder) like = std::find_if(said_.begin(), said_.end(), is_like);
  if (like != said_.end()) {
    like->times += said.times;
  } else {
    said_.push_back(said);
  }
}

std::vector<SaidSignal> SaidSignals::take(std::int64_t iteration) {
  const auto later = std::stable_partition(said_.begin(), said_.end(), [&](const SaidSignal& each) {
    return each.iteration <= iteration;
  });
  std::vector<SaidSignal> taken(said_.begin(), later);
  said_.erase(said_.begin(), later);
  return taken;
}

bool SaidSignals::any_until(std::int64_t iteration) const noexcept {
  return std::any_of(said_.begin(), said_.end(),
                     [&](const SaidSignal& each) { return each.iteration <= iteration; });
}

nlohmann::json SaidSignals::in_words() const {
  nlohmann::json words = nlohmann::json::array();
  for (const SaidSignal& each : said_)
    words.push_back({each.iteration, each.client, each.event, each.times});
  return words;
}

void SaidSignals::take_words(const nlohmann::json& words) {
  for (const nlohmann::json& each : words) said_.push_back({each[0], each[1], each[2], each[3]});
}

}  // namespace leat::server
