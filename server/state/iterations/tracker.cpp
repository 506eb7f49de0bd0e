// SPDX-License-Identifier: Apache-2.0
#include "server/state/iterations/tracker.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "lib/base/text.hpp"

namespace leat::server {
namespace {

constexpr std::size_t kFewest = 64;

auto order_of(const Block& block) { return std::tie(block.variable, block.block); }

bool comes_before(const Block& a, const Block& b) { return order_of(a) < order_of(b); }

// Of all bits of both numbers, so that neighbours do not collide (Fibonacci hashing).
std::size_t hash_of(const Block& block) {
  const std::uint64_t key = std::uint64_t{block.variable} << 32 | block.block;
  return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> 32);
}

std::vector<std::vector<Block>*> by_rank(std::vector<BlocksOfClient>& clients) {
  std::vector<std::vector<Block>*> written;
  for (BlocksOfClient& client : clients) {
    if (client.blocks().empty()) continue;
    client.sort();
    written.push_back(&client.blocks());
  }
  std::stable_sort(written.begin(), written.end(),
                   [](auto* a, auto* b) { return a->front().rank < b->front().rank; });
  return written;
}

// Each client's blocks are in order already: they are dealt out to the variables, rank by rank.
std::vector<Block> in_order(std::vector<BlocksOfClient>& clients) {
  const std::vector<std::vector<Block>*> written = by_rank(clients);
  std::vector<std::size_t> place(1, 0);  // of the next block of a variable
  for (const auto* blocks : written) {
    for (const Block& block : *blocks) {
      if (block.variable + 2 > place.size()) place.resize(block.variable + 2, 0);
      ++place[block.variable + 1];
    }
  }
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<const Block*> order(place.back());
  for (const auto* blocks : written) {
    for (const Block& block : *blocks) order[place[block.variable]++] = &block;
  }
  std::vector<Block> all;
  all.reserve(order.size());
  for (const Block* block : order) all.push_back(*block);
  return all;
}

}  // namespace

std::size_t BlocksOfClient::place_of(const Block& block) const noexcept {
  const std::size_t mask = places_.size() - 1;
  std::size_t at = hash_of(block) & mask;
  while (places_[at] != 0 && order_of(blocks_[places_[at] - 1]) != order_of(block))
    at = (at + 1) & mask;
  return at;
}

// At most half of the places are used.
void BlocksOfClient::grow() {
  places_.assign(std::max(kFewest, 4 * places_.size()), 0);
  blocks_.reserve(places_.size() / 2);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    places_[place_of(blocks_[i])] = static_cast<std::uint32_t>(i + 1);
}

std::optional<Block> BlocksOfClient::add(const Block& block) {
  if (2 * (blocks_.size() + 1) > places_.size()) grow();
  std::uint32_t& place = places_[place_of(block)];
  if (place != 0) return std::exchange(blocks_[place - 1], block);
  blocks_.push_back(block);
  place = static_cast<std::uint32_t>(blocks_.size());
  return std::nullopt;
}

const Block* BlocksOfClient::find(const Block& like) const noexcept {
  if (places_.empty()) return nullptr;
  const std::uint32_t place = places_[place_of(like)];
  return place == 0 ? nullptr : &blocks_[place - 1];
}

void BlocksOfClient::sort() {
  if (!std::is_sorted(blocks_.begin(), blocks_.end(), comes_before))
    std::sort(blocks_.begin(), blocks_.end(), comes_before);
  places_.clear();
}

IterationTracker::IterationTracker(std::uint32_t clients) : clients_(clients) {
  if (clients > 0) in_[0] = clients;
}

std::int64_t IterationTracker::least() const noexcept {
  return in_.empty() ? INT64_MAX : in_.begin()->first;
}

void IterationTracker::move_to(std::uint32_t client, std::int64_t iteration) {
  Client& moved = clients_[client];
  if (!moved.gone) {
    if (--in_[moved.current] == 0) in_.erase(moved.current);
    ++in_[iteration];
  }
  moved.current = iteration;
}

std::optional<Block> IterationTracker::add_to(std::int64_t iteration, const Block& block) {
  if (is_dropped(iteration)) return block;
  Open& open = open_[iteration];
  if (open.empty()) {
    open.resize(clients_.size());
    look_who_skips(iteration);
  }
  return open[block.client].add(block);
}

void IterationTracker::touch(std::int64_t iteration) {
  if (is_dropped(iteration)) return;
  Open& open = open_[iteration];
  if (open.empty()) open.resize(clients_.size());
}

std::optional<std::int64_t> IterationTracker::next() const {
  if (in_.empty()) return std::nullopt;
  std::int64_t iteration = least();
  while (is_dropped(iteration)) ++iteration;
  return iteration;
}

const Block* IterationTracker::find(std::int64_t iteration, const Block& like) const {
  const auto found = open_.find(iteration);
  return found == open_.end() ? nullptr : found->second[like.client].find(like);
}

void IterationTracker::begin_at(std::uint32_t client, std::int64_t iteration) {
  clients_[client].first = iteration;
  if (iteration <= clients_[client].current) return;
  move_blocks(client, clients_[client].current, iteration);
  move_to(client, iteration);
}

void IterationTracker::move_blocks(std::uint32_t client, std::int64_t from, std::int64_t to) {
  const auto found = open_.find(from);
  if (found == open_.end()) return;
  const BlocksOfClient moved = std::exchange(found->second[client], {});
  for (const Block& block : moved.blocks())
    if (const std::optional<Block> left_out = add_to(to, block)) left_out_.push_back(*left_out);
}

std::int64_t IterationTracker::first() const noexcept {
  std::int64_t first = INT64_MAX;
  for (const Client& each : clients_) first = std::min(first, each.first.value_or(INT64_MAX));
  return first == INT64_MAX ? 0 : first;
}

std::int64_t IterationTracker::ended_count() const noexcept {
  std::int64_t most = 0;
  for (const Client& each : clients_)
    most = std::max(most, each.ended + std::max<std::int64_t>(0, each.resumed_at - first()));
  return most;
}

bool IterationTracker::close_before_first() {
  const std::int64_t all = first();
  if (open_.empty() || open_.begin()->first >= all || least() < all) return false;
  while (open_.begin()->first < all) {
    for (std::uint32_t i = 0; i < clients_.size(); ++i) move_blocks(i, open_.begin()->first, all);
    open_.erase(open_.begin());
    if (open_.empty()) break;
  }
  return true;
}

void IterationTracker::resume(std::uint32_t client, std::int64_t iteration) {
  clients_[client].resumed_at = iteration;
  move_to(client, iteration);
}

// Others may be behind, and write in what this one has left out: then their block finds it.
void IterationTracker::skip_to(std::uint32_t client, std::int64_t iteration) {
  Client& skips = clients_[client];
  skips.skipped_from = skips.current;
  skips.skipped_to = iteration;
  const auto open = open_.lower_bound(skips.current);
  if (!unlike_ && open != open_.end() && open->first < iteration)
    unlike_ = Unlike{client, open->first};
  move_to(client, iteration);
}

void IterationTracker::look_who_skips(std::int64_t iteration) {
  for (std::uint32_t i = 0; !unlike_ && i < clients_.size(); ++i)
    if (clients_[i].skipped_from <= iteration && iteration < clients_[i].skipped_to)
      unlike_ = Unlike{i, iteration};
}

void IterationTracker::ended(std::uint32_t client, std::int64_t iteration) {
  clients_[client].ended += std::max<std::int64_t>(0, iteration + 1 - clients_[client].current);
  move_to(client, iteration + 1);
  if (!dropped_.empty()) dropped_.erase(dropped_.begin(), dropped_.lower_bound(least()));
}

std::optional<std::vector<Block>> IterationTracker::drop(std::int64_t iteration) {
  if (!dropped_.insert(iteration).second) return std::nullopt;
  const auto found = open_.find(iteration);
  if (found == open_.end()) return std::vector<Block>{};
  std::vector<Block> blocks = in_order(found->second);
  open_.erase(found);
  return blocks;
}

void IterationTracker::gone(std::uint32_t client, bool died) {
  Client& left = clients_[client];
  if (!left.gone && --in_[left.current] == 0) in_.erase(left.current);
  left.gone = true;
  if (died) died_in_ = std::min(died_in_, left.current);
}

bool IterationTracker::any(std::int64_t iteration,
                           const std::function<bool(const Block&)>& is_like_that) const {
  const auto found = open_.find(iteration);
  return found != open_.end() &&
         std::any_of(found->second.begin(), found->second.end(), [&](const BlocksOfClient& each) {
           return std::any_of(each.blocks().begin(), each.blocks().end(), is_like_that);
         });
}

std::optional<Iteration> IterationTracker::take_complete(std::int64_t last) {
  if (open_.empty() || open_.begin()->first >= least() || open_.begin()->first > last)
    return std::nullopt;
  const auto first = open_.begin();
  Iteration iteration{first->first, first->first < died_in_, {}, {}, {}};
  iteration.blocks = in_order(first->second);
  open_.erase(first);
  return iteration;
}

std::int64_t IterationTracker::oldest() const noexcept {
  return open_.empty() ? INT64_MAX : open_.begin()->first;
}

namespace {

constexpr std::size_t kMostRanges = 64;

// "4, 7-8" of {4, 7, 8}.
std::string ranges(const std::set<std::int64_t>& numbers) {
  std::string text;
  std::size_t count = 0;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first, after = std::next(first);
    while (after != numbers.end() && *after == *last + 1) last = after++;
    text += text.empty() ? "" : ", ";
    if (count++ == kMostRanges) return text + "...";
    text += std::to_string(*first);
    if (last != first) text += "-" + std::to_string(*last);
    first = after;
  }
  return text;
}

}  // namespace

void Dropped::add(std::int64_t iteration) {
  auto& word =
      run_.segment.drop_words().number[static_cast<std::uint64_t>(iteration) % shm::kDropWords];
  // A rank that is behind has yet to learn of the one that is there.
  if (!iterations_.is_dropped(word.load(std::memory_order_relaxed))) {
    // Release: a server that takes over and finds the memory leased anew finds this as well.
    word.store(iteration, std::memory_order_release);
  }
  journal_.append(IterationsDropped{{iteration}});
  numbers_.insert(iteration);
}

std::string Dropped::text() const {
  if (numbers_.empty()) return "";
  return fmt::format("{} dropped ({})", counted(numbers_.size(), "iteration"), ranges(numbers_));
}

std::vector<JournalRecord> Dropped::snapshot() const {
  if (numbers_.empty()) return {};
  return {IterationsDropped{{numbers_.begin(), numbers_.end()}}};
}

}  // namespace leat::server
