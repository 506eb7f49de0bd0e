// SPDX-License-Identifier: Apache-2.0
#include "server/state/group/reductions.hpp"

#include <utility>

#include "lib/base/text.hpp"

namespace leat::server {
namespace {

// Of the numbers after channel::reductions: below it of stores, from it on of scripts.
constexpr std::uint64_t kFirstOfScripts = std::uint64_t{1} << 31;
// Iterations of a function that are kept, should it reduce after all.
constexpr std::size_t kMostLeftOut = 256;

bool is_of_script(std::uint64_t channel) {
  return channel >= channel::reductions + kFirstOfScripts;
}

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

void Reductions::leave_out(std::uint64_t channel, std::int64_t iteration) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    came_left_out_.emplace_back(channel, iteration);
    has_news_.store(true, std::memory_order_relaxed);
  }
  wake_();
}

// Of functions that have reduced, and of those in which others wait later.
void Reductions::leave_out_iteration(std::int64_t iteration) {
  dropped_.insert(iteration);
  if (dropped_.size() > kMostLeftOut) dropped_.erase(dropped_.begin());
  for (const auto& [channel, last] : rounds_.over())
    if (is_of_script(channel)) leave_out(channel, iteration);
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
  if (awaited.empty() && awaited_.empty() && left_out_.empty() && !has_news()) return;
  for (const comm::Round& round : awaited) {
    const bool is_end = round.number == INT64_MAX;  // of another server's part in the channel
    if (round.channel < channel::reductions || is_end) continue;
    awaited_.insert(round);
    const auto later = dropped_.lower_bound(iteration_of(round));
    if (is_of_script(round.channel)) left_out_[round.channel].insert(later, dropped_.end());
  }
  // Asked before what came is taken: that may be of them. Nor may one of an earlier iteration come, as a round ends those before.
  std::vector<comm::Round> vain;
  for (const comm::Round& round : awaited_)
    if (!may_come(round.channel, INT64_MIN, iteration_of(round))) vain.push_back(round);
  take_left_out();
  contribute_left_out(may_come);
  contribute_what_came();
  for (const comm::Round& round : vain)
    if (awaited_.erase(round) > 0) rounds_.contribute(round, {}, nullptr);
}

void Reductions::take_left_out() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [channel, iteration] : std::exchange(came_left_out_, {})) {
    std::set<std::int64_t>& iterations = left_out_[channel];
    iterations.insert(iteration);
    if (iterations.size() > kMostLeftOut) iterations.erase(iterations.begin());
  }
}

// A function that has never reduced may be one that never does: it has no rounds.
bool Reductions::is_known(std::uint64_t channel) const {
  const auto awaited = awaited_.lower_bound({channel, INT64_MIN});
  return rounds_.over().count(channel) > 0 ||
         (awaited != awaited_.end() && awaited->channel == channel);
}

// To a number behind all calls of the iteration. That says too that nothing comes of those before: so they have to be over here.
void Reductions::contribute_left_out(const MayCome& may_come) {
  for (auto& [channel, iterations] : left_out_) {
    if (!is_known(channel)) continue;
    std::optional<std::int64_t> last;
    while (!iterations.empty() && !may_come(channel, INT64_MIN, *iterations.begin() - 1)) {
      last = number_of(*iterations.begin(), UINT16_MAX);
      iterations.erase(iterations.begin());
    }
    const auto over = rounds_.over().find(channel);
    if (last && (over == rounds_.over().end() || *last > over->second))
      rounds_.contribute({channel, *last}, {}, nullptr);
  }
  std::erase_if(left_out_, [](const auto& each) { return each.second.empty(); });
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

// What comes of a contribution is judged by who there is, and may come before the next tick.
void Reductions::contribute_what_came() {
  if (rounds_.has_begun() && !place()) look_who_is_there();
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

std::optional<std::uint32_t> store_of(std::uint64_t channel) {
  if (is_of_script(channel)) return std::nullopt;
  return static_cast<std::uint32_t>((channel - channel::reductions) / kMostReductionSteps);
}

std::uint64_t channel_of_script(std::string_view script, std::string_view function) {
  const std::uint64_t hash = fnv1a(function, fnv1a("/", fnv1a(script)));
  return channel::reductions + kFirstOfScripts + ((hash ^ hash >> 32) & (kFirstOfScripts - 1));
}

}  // namespace leat::server
