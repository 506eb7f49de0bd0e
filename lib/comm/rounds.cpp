// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/rounds.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace leat::comm {
namespace {

RankSet covered(const std::vector<const Partial*>& partials) {
  RankSet all;
  for (const Partial* each : partials) all += each->of;
  return all;
}

// Those that are within no other one, of each only the first.
std::vector<const Partial*> largest(std::vector<const Partial*> partials) {
  std::stable_sort(partials.begin(), partials.end(), [](const Partial* a, const Partial* b) {
    return a->of.count() > b->of.count();
  });
  RankSet taken;
  std::vector<const Partial*> chosen;
  for (const Partial* each : partials) {
    if (taken.overlaps(each->of)) continue;
    taken += each->of;
    chosen.push_back(each);
  }
  return chosen;
}

// Whether they are of one outcome: who has nothing to say fits everybody.
bool go_together(const Partial& a, const Partial& b) {
  return a.columns.empty() || b.columns.empty() || fit(a.columns, b.columns);
}

// One of those that most ranks fit, so that a server that is wrong leaves out itself; of two the first.
const Partial* model_of(const std::vector<const Partial*>& partials) {
  struct Kind {
    const Partial* first = nullptr;
    std::size_t ranks = 0;
  };
  std::vector<Kind> kinds;
  for (const Partial* each : partials) {
    if (each->columns.empty()) continue;
    auto kind = std::find_if(kinds.begin(), kinds.end(), [each](const Kind& other) {
      return fit(other.first->columns, each->columns);
    });
    if (kind == kinds.end()) kind = kinds.insert(kind, {each, 0});
    if (each->of.first() < kind->first->of.first()) kind->first = each;
    kind->ranks += each->of.count();
  }
  const auto best = std::max_element(kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) {
    return a.ranks != b.ranks ? a.ranks < b.ranks : a.first->of.first() > b.first->of.first();
  });
  return best == kinds.end() ? nullptr : best->first;
}

bool is_too_long(const Columns& a, const Columns& b, std::size_t most) {
  const auto gathers = [](const Column& each) { return std::holds_alternative<Gathered>(each); };
  return std::any_of(a.begin(), a.end(), gathers) && bytes_in(a) + bytes_in(b) > most;
}

Outcome outcome_of(const Round& round, const std::vector<const Partial*>& parts, std::size_t most) {
  Outcome outcome{0, 0, round, {}, {}};
  const Partial* const model = model_of(parts);
  if (model) outcome.columns = model->columns;
  for (const Partial* each : parts) {
    if (model && each != model &&
        (!go_together(*model, *each) || is_too_long(outcome.columns, each->columns, most)))
      continue;
    outcome.of += each->of;
    if (each != model && !each->columns.empty()) combine(&outcome.columns, each->columns);
  }
  return outcome;
}

}  // namespace

std::int64_t Rounds::last(std::uint64_t channel) const {
  const auto last = last_.find(channel);
  return last == last_.end() ? INT64_MIN : last->second;
}

bool Rounds::is_over(const Round& round) const {
  return last_.contains(round.channel) && round.number <= last(round.channel);
}

bool Rounds::has_reached(const Round& round) const {
  const auto own = own_.find(round.channel);
  return own != own_.end() && round.number <= own->second;
}

std::string Rounds::contribute(const Round& round, Columns columns) {
  if (is_over(round)) return kRoundIsOver;
  if (has_reached(round)) return "this server has contributed to this round or to a later one";
  if (is_full_for(round)) return "too many rounds are open";
  Open& here = open(round);
  here.own = Partial{round, self_, RankSet(self_), {}, INT64_MIN, std::move(columns)};
  here.overlaps |= here.covered.has(self_);
  here.covered += self_;
  own_[round.channel] = round.number;
  add_to_earlier(open_.find(round), RankSet(self_));
  return {};
}

void Rounds::resume(const Round& round, Columns columns) {
  if (is_over(round) || has_reached(round)) return;
  own_[round.channel] = before_[round.channel] = round.number;
  Open& here = open(round);
  here.own = Partial{round, -1, RankSet(self_), {}, INT64_MIN, std::move(columns)};
  here.beside.push_back(*here.own);
  here.overlaps |= here.covered.has(self_);
  here.covered += self_;
  add_to_earlier(open_.find(round), RankSet(self_));
}

Rounds::Open& Rounds::open(const Round& round) {
  changed_.insert(round.channel);
  const auto [at, is_new] = open_.try_emplace(round);
  Open& open = at->second;
  open.is_new = true;
  if (is_new) {
    const auto before = before_.find(round.channel);
    open.is_merged = before != before_.end() && round.number <= before->second;
    open.later = later_than(at);
  }
  return open;
}

// Who has reached a later one has reached all before that: where they are known, so they are before.
void Rounds::add_to_earlier(Place at, const RankSet& ranks) {
  for (const Place first = first_of(at->first.channel); at != first;) {
    Open& earlier = (--at)->second;
    if (earlier.later.has(ranks)) return;
    earlier.later += ranks;
    earlier.is_new = true;
  }
}

RankSet Rounds::later_than(Place at) const {
  RankSet ranks;
  if (has_reached(at->first)) ranks += self_;
  const auto next = std::next(at);
  if (next == open_.end() || next->first.channel != at->first.channel) return ranks;
  ranks += next->second.later;
  ranks += next->second.reached;
  return ranks;
}

// What came while fewer rounds were over here counts now.
void Rounds::find_later(std::uint64_t channel) {
  bool are_delayed = false;
  const Place first = first_of(channel);
  for (Place at = end_of(channel); at != first;) {
    Open& open = (--at)->second;
    open.later = later_than(at);
    open.is_new = true;
    const auto until = open.delayed.upper_bound(last(channel));
    for (auto each = open.delayed.begin(); each != until; ++each) open.reached += each->second;
    open.delayed.erase(open.delayed.begin(), until);
    are_delayed |= !open.delayed.empty();
  }
  if (!are_delayed) delayed_.erase(channel);
}

void Rounds::add(Partial partial, bool is_of_child) {
  const Round round = partial.round;
  if (is_over(round) || is_full_for(round)) return;
  Open& here = open(round);
  const RankSet there = partial.of + partial.passed;
  if (partial.over <= last(round.channel)) {
    here.reached += there;
    add_to_earlier(open_.find(round), there);
  } else {
    here.delayed[partial.over] += there;
    delayed_.insert(round.channel);
  }
  here.passed += std::exchange(partial.passed, {});
  if (partial.of.empty()) return;
  if (here.covered.overlaps(partial.of)) {
    for (const Partial* each : all_of(here))
      if (each->of.has(partial.of)) return;
    here.overlaps = true;
  }
  here.covered += partial.of;
  if (is_of_child && !here.is_merged) {
    here.held.push_back(std::move(partial));
  } else {
    here.beside.push_back(std::move(partial));
  }
}

std::vector<std::uint64_t> Rounds::open_channels() const {
  std::vector<std::uint64_t> all;
  for (auto at = open_.begin(); at != open_.end();
       at = open_.upper_bound({at->first.channel, INT64_MAX}))
    all.push_back(at->first.channel);
  return all;
}

std::set<std::uint64_t> Rounds::take_changed(const RankSet& wanted) {
  if (wanted_ != wanted) {
    wanted_ = wanted;
    for (const std::uint64_t channel : open_channels()) changed_.insert(channel);
  }
  return std::exchange(changed_, {});
}

// Who does not fit is sent on beside: the root says what becomes of it.
void Rounds::merge(const Round& round, Open* open) const {
  open->is_merged = true;
  std::vector<const Partial*> parts;
  if (open->own) parts.push_back(&*open->own);
  for (const Partial& each : open->held) parts.push_back(&each);
  if (parts.empty()) return;
  const Partial* model = open->own && !open->own->columns.empty() ? &*open->own : model_of(parts);
  Partial merged{round, self_, {}, {}, INT64_MIN, model ? model->columns : Columns()};
  if (model) {
    merged.of = model->of;
    merged.over = model->over;
  }
  for (const Partial* each : parts) {
    if (each == model) continue;
    if (merged.of.overlaps(each->of) || (model && !go_together(*model, *each)) ||
        is_too_long(merged.columns, each->columns, most_bytes_)) {
      open->beside.push_back(*each);
      continue;
    }
    merged.of += each->of;
    merged.over = std::max(merged.over, each->over);
    if (!each->columns.empty()) combine(&merged.columns, each->columns);
  }
  open->held.clear();
  open->beside.push_back(std::move(merged));
}

// What some of them contributed to rounds up to this one may have been left behind where it came by.
std::int64_t Rounds::over_of(const Open& open, const RankSet& ranks) {
  for (auto each = open.delayed.rbegin(); each != open.delayed.rend(); ++each)
    if (each->second.overlaps(ranks)) return each->first;
  return INT64_MIN;
}

void Rounds::send_on(const Round& round, Open* open, std::vector<Partial>* all) const {
  if (!open->is_merged) merge(round, open);
  RankSet passed = open->ranks() - open->covered - open->told;
  if (!passed.empty()) {
    open->told += passed;
    if (open->beside.empty()) open->beside.push_back({round, -1, {}, {}, INT64_MIN, {}});
    Partial& front = open->beside.front();
    front.over = std::max(front.over, over_of(*open, passed));
    front.passed = std::move(passed);
  }
  send(open->beside, all);
  std::move(open->beside.begin(), open->beside.end(), std::back_inserter(open->sent));
  open->beside.clear();
  open->is_new = false;
}

void Rounds::send(const std::vector<Partial>& some, std::vector<Partial>* all) const {
  for (const Partial& each : some) {
    Partial& sent = all->emplace_back(each);
    sent.over = std::max(sent.over, last(each.round.channel));
  }
}

std::vector<Partial> Rounds::take_ready(const RankSet& children) {
  std::vector<Partial> all;
  const RankSet here = children + RankSet(self_);
  for (const std::uint64_t channel : take_changed(children)) {
    const Place first = first_of(channel);
    Place until = end_of(channel);  // the last one that is ready is before it
    for (; until != first; --until)
      if (const Open& open = std::prev(until)->second; open.is_merged || open.has(here)) break;
    for (Place at = first; at != until; ++at)
      if (at->second.is_new || !at->second.is_merged) send_on(at->first, &at->second, &all);
  }
  return all;
}

std::vector<Partial> Rounds::sent() const {
  std::vector<Partial> all;
  for (const auto& [round, open] : open_) send(open.sent, &all);
  return all;
}

std::vector<const Partial*> Rounds::all_of(const Open& open) {
  std::vector<const Partial*> all;
  if (open.own) all.push_back(&*open.own);
  for (const auto* list : {&open.held, &open.beside, &open.sent})
    for (const Partial& each : *list)
      if (!each.of.empty()) all.push_back(&each);
  return all;
}

// Who is in the outcome, or left out of it because it does not fit.
RankSet Rounds::arrived(const Open& open) {
  if (!open.overlaps) return open.ranks();
  return covered(largest(all_of(open))) + (open.ranks() - open.covered);
}

bool Rounds::have_arrived(const Open& open, const RankSet& wanted) {
  return open.has(wanted) && (!open.overlaps || arrived(open).has(wanted));
}

std::vector<Outcome> Rounds::take_complete(const RankSet& wanted) {
  std::vector<Outcome> complete;
  for (const std::uint64_t channel : take_changed(wanted)) {
    for (Place at = first_of(channel); at != end_of(channel); at = open_.erase(at)) {
      const auto& [round, open] = *at;
      if (!have_arrived(open, wanted)) break;
      Outcome outcome = outcome_of(round, largest(all_of(open)), most_bytes_);
      outcome.of += open.ranks() - open.covered;
      complete.push_back(std::move(outcome));
    }
  }
  return complete;
}

RankSet Rounds::awaited(std::uint64_t channel, const RankSet& wanted) const {
  const auto first = open_.lower_bound({channel, INT64_MIN});
  if (first == open_.end() || first->first.channel != channel) return {};
  return wanted - arrived(first->second);
}

std::vector<Awaited> Rounds::waiting(const RankSet& wanted) {
  constexpr std::size_t kMostRounds = 16, kMostRanges = 64;
  std::vector<std::uint64_t> channels = open_channels();
  std::rotate(channels.begin(), std::lower_bound(channels.begin(), channels.end(), next_waiting_),
              channels.end());
  std::vector<Awaited> all, ends;
  for (const std::uint64_t channel : channels) {
    for (Place at = first_of(channel); at != end_of(channel); ++at) {
      Open& open = at->second;
      if (!std::exchange(open.was_waiting, true)) continue;
      auto& list = at->first.number == INT64_MAX ? ends : all;
      if (list.size() == kMostRounds) break;
      if (have_arrived(open, wanted)) continue;
      std::vector<RankSet::Range> some = (wanted - arrived(open)).ranges();
      some.resize(std::min(some.size(), kMostRanges));
      Awaited& each = list.emplace_back(Awaited{at->first, {}});
      each.of.set(std::move(some));
    }
    next_waiting_ = channel + 1;
    if (all.size() == kMostRounds) break;
  }
  // Channels of which most servers have ended their part are open all the time: they come where there is room.
  const std::size_t room = kMostRounds - all.size();
  if (ends.size() > room) ends.resize(room);
  if (!ends.empty() && ends.size() == room) next_waiting_ = ends.back().round.channel + 1;
  std::move(ends.begin(), ends.end(), std::back_inserter(all));
  return all;
}

void Rounds::end(const Round& round, std::int64_t sequence) {
  open_.erase(open_.lower_bound({round.channel, INT64_MIN}), open_.upper_bound(round));
  if (is_over(round)) return;
  last_[round.channel] = round.number;
  changed_.insert(round.channel);
  if (delayed_.contains(round.channel)) find_later(round.channel);
  if (round.number == INT64_MAX) ended_.emplace_back(sequence, round.channel);
}

void Rounds::forget(std::int64_t sequence) {
  for (; !ended_.empty() && ended_.front().first <= sequence; ended_.pop_front())
    for (auto* const of_channel : {&last_, &own_, &before_})
      of_channel->erase(ended_.front().second);
}

std::vector<Outcome> Rounds::take_own() {
  std::vector<Outcome> all;
  for (auto& [round, open] : open_) {
    if (!open.own) continue;
    all.push_back({0, 0, round, RankSet(self_), std::move(open.own->columns)});
  }
  open_.clear();
  return all;
}

}  // namespace leat::comm
