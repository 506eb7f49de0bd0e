// SPDX-License-Identifier: Apache-2.0
#include "server/state/group/reductions.hpp"

#include <utility>

#include "lib/base/text.hpp"

namespace leat::server {
namespace {

// Of the numbers after channel::reductions: below it of stores, from it on of scripts.
constexpr std::uint64_t kFirstOfScripts = std::uint64_t{1} << 31;

}  // namespace

void Reductions::contribute(const comm::Round& round,
                            std::function<comm::Columns(comm::Rank self)> columns, Done done) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    came_.push_back({round, std::move(columns), std::move(done)});
    has_news_.store(true, std::memory_order_relaxed);
  }
  wake_();
}

std::optional<Reductions::Place> Reductions::place() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return place_;
}

Reductions::Contact Reductions::contact() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return contact_;
}

void Reductions::set_contact(Contact contact) {
  const std::lock_guard<std::mutex> lock(mutex_);
  contact_ = std::move(contact);
}

void Reductions::advance(const std::vector<comm::Round>& awaited, const MayCome& may_come) {
  if (awaited.empty() && awaited_.empty() && !has_news()) return;
  for (const comm::Round& round : awaited) {
    const bool is_end = round.number == INT64_MAX;  // of another server's part in the channel
    if (round.channel >= channel::reductions && !is_end) awaited_.insert(round);
  }
  std::vector<comm::Round> vain;  // asked before what came is taken: that may be of them
  for (const comm::Round& round : awaited_)
    if (!may_come(round)) vain.push_back(round);
  contribute_what_came();
  for (const comm::Round& round : vain)
    if (awaited_.erase(round) > 0) rounds_.contribute(round, {}, nullptr);
}

void Reductions::end(const std::vector<comm::Round>& awaited) {
  contribute_what_came();
  std::set<std::uint64_t> channels;
  awaited_.insert(awaited.begin(), awaited.end());
  for (const comm::Round& round : std::exchange(awaited_, {}))
    if (round.channel >= channel::reductions && round.number != INT64_MAX)
      channels.insert(round.channel);
  for (const std::uint64_t channel : channels)
    rounds_.contribute({channel, INT64_MAX}, {}, nullptr);
}

void Reductions::look_who_is_there() {
  if (!rounds_.has_begun()) return;
  const comm::RankSet there =
      comm::RankSet(0, rounds_.size() - 1) - rounds_.dead() - rounds_.left();
  const std::lock_guard<std::mutex> lock(mutex_);
  place_ = {rounds_.self(), rounds_.size(), there.empty() ? rounds_.self() : there.first()};
  has_news_.store(!came_.empty(), std::memory_order_relaxed);
}

void Reductions::contribute_what_came() {
  std::vector<Contribution> came;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_news_.store(false, std::memory_order_relaxed);
    if (rounds_.has_begun()) came = std::exchange(came_, {});
  }
  for (Contribution& each : came) {
    awaited_.erase(each.round);
    rounds_.contribute(each.round, each.columns(rounds_.self()), std::move(each.done));
  }
}

std::uint64_t channel_of_store(std::uint32_t store, std::uint32_t step) {
  return channel::reductions + std::uint64_t{store} * kMostReductionSteps + step;
}

std::optional<std::uint32_t> store_of(const comm::Round& round) {
  const std::uint64_t index = round.channel - channel::reductions;
  if (index >= kFirstOfScripts) return std::nullopt;
  return static_cast<std::uint32_t>(index / kMostReductionSteps);
}

std::uint64_t channel_of_script(std::string_view script, std::string_view function) {
  const std::uint64_t hash = fnv1a(function, fnv1a("/", fnv1a(script)));
  return channel::reductions + kFirstOfScripts + ((hash ^ hash >> 32) & (kFirstOfScripts - 1));
}

}  // namespace leat::server
