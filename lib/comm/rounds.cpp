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

// The one that most ranks fit, so that a server that is wrong leaves out itself; of two the first.
const Partial* model_of(const std::vector<const Partial*>& partials) {
  const Partial* best = nullptr;
  std::size_t most = 0;
  for (const Partial* each : partials) {
    if (each->columns.empty()) continue;
    RankSet fitting;
    for (const Partial* other : partials)
      if (go_together(*each, *other)) fitting += other->of;
    if (fitting.count() > most || (fitting.count() == most && each->of.first() < best->of.first()))
      best = each;
    most = std::max(most, fitting.count());
  }
  return best;
}

}  // namespace

bool Rounds::is_over(const Round& round) const {
  const auto last = last_.find(round.channel);
  return last != last_.end() && round.number <= last->second;
}

bool Rounds::contribute(const Round& round, Columns columns) {
  if (is_over(round)) return false;
  if (!open_.contains(round) && static_cast<std::int64_t>(open_.size()) >= most_) return false;
  Open& open = open_[round];
  if (open.own) return false;
  open.held.push_back({round, self_, RankSet(self_), columns});
  open.own = std::move(columns);
  return true;
}

void Rounds::resume(const Round& round, Columns columns) {
  if (is_over(round)) return;
  Open& open = open_[round];
  open.ready.push_back({round, -1, RankSet(self_), columns});
  open.own = std::move(columns);
  open.is_merged = true;
}

void Rounds::add(Partial partial, bool is_of_child) {
  const Round round = partial.round;
  if (is_over(round) || partial.of.empty()) return;
  if (!open_.contains(round) && static_cast<std::int64_t>(open_.size()) >= most_) return;
  Open& open = open_[round];
  for (const Partial* each : all_of(open))
    if (each->of.has(partial.of)) return;
  if (is_of_child && !open.is_merged) {
    open.held.push_back(std::move(partial));
  } else {
    open.ready.push_back(std::move(partial));
  }
}

// Who does not fit is sent on beside: the root says what becomes of it.
void Rounds::merge(const Round& round, Open* open) {
  Partial merged{round, self_, RankSet(self_), *open->own};
  if (merged.columns.empty()) {  // of those that have something to say, most are right
    std::vector<const Partial*> held;
    for (const Partial& each : open->held) held.push_back(&each);
    if (const Partial* const model = model_of(held)) {
      const auto place = static_cast<std::size_t>(model - open->held.data());
      std::swap(open->held.front(), open->held[place]);
    }
  }
  for (Partial& each : open->held) {
    if (each.of.has(self_)) continue;
    if (merged.of.overlaps(each.of) || !go_together(merged, each)) {
      open->ready.push_back(std::move(each));
      continue;
    }
    merged.of += each.of;
    if (merged.columns.empty()) {
      merged.columns = std::move(each.columns);
    } else if (!each.columns.empty()) {
      combine(&merged.columns, each.columns);
    }
  }
  open->held.clear();
  open->ready.push_back(std::move(merged));
  open->is_merged = true;
}

std::vector<Partial> Rounds::take_ready(const RankSet& children) {
  std::vector<Partial> all;
  for (auto& [round, open] : open_) {
    if (!open.is_merged && open.own && covered(all_of(open)).has(children)) merge(round, &open);
    all.insert(all.end(), open.ready.begin(), open.ready.end());
    std::move(open.ready.begin(), open.ready.end(), std::back_inserter(open.sent));
    open.ready.clear();
  }
  return all;
}

std::vector<Partial> Rounds::sent() const {
  std::vector<Partial> all;
  for (const auto& [round, open] : open_) all.insert(all.end(), open.sent.begin(), open.sent.end());
  return all;
}

std::vector<const Partial*> Rounds::all_of(const Open& open) {
  std::vector<const Partial*> all;
  for (const auto* list : {&open.held, &open.ready, &open.sent})
    for (const Partial& each : *list) all.push_back(&each);
  return all;
}

Outcome Rounds::outcome_of(const Round& round, const Open& open) const {
  const std::vector<const Partial*> parts = largest(all_of(open));
  Outcome outcome{0, 0, round, {}, {}};
  const Partial* const model = model_of(parts);
  if (model) outcome.columns = model->columns;
  for (const Partial* each : parts) {
    if (model && !go_together(*model, *each)) continue;
    outcome.of += each->of;
    if (each != model && !each->columns.empty()) combine(&outcome.columns, each->columns);
  }
  return outcome;
}

std::vector<Outcome> Rounds::take_complete(const RankSet& wanted) {
  std::vector<Outcome> complete;
  for (auto at = open_.begin(); at != open_.end();) {
    const auto& [round, open] = *at;
    if (!covered(all_of(open)).has(wanted)) {
      at = open_.lower_bound({round.channel + 1, INT64_MIN});
      if (round.channel == UINT64_MAX) break;
      continue;
    }
    complete.push_back(outcome_of(round, open));
    last_[round.channel] = round.number;
    at = open_.erase(at);
  }
  return complete;
}

RankSet Rounds::awaited(std::uint64_t channel, const RankSet& wanted) const {
  const auto first = open_.lower_bound({channel, INT64_MIN});
  if (first == open_.end() || first->first.channel != channel) return {};
  return wanted - covered(all_of(first->second));
}

void Rounds::end(const Round& round) {
  const auto last = last_.emplace(round.channel, round.number).first;
  last->second = std::max(last->second, round.number);
  open_.erase(open_.lower_bound({round.channel, INT64_MIN}), open_.upper_bound(round));
}

std::vector<Outcome> Rounds::take_own() {
  std::vector<Outcome> all;
  for (auto& [round, open] : open_) {
    if (!open.own) continue;
    last_[round.channel] = round.number;
    all.push_back({0, 0, round, RankSet(self_), std::move(*open.own)});
  }
  open_.clear();
  return all;
}

}  // namespace leat::comm
