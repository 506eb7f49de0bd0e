// SPDX-License-Identifier: Apache-2.0
#include "server/state/group/run_iterations.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "lib/base/text.hpp"
#include "server/state/journal/names.hpp"

namespace leat::server {
namespace {

using comm::Op;

// A rank that signals without end keeps no more than this in order.
constexpr std::size_t kMostInOrder = std::size_t{1} << 16;
// Iterations that are reported and have no outcome.
constexpr std::int64_t kMostUnanswered = 256;
// Of a server none of whose ranks can signal an event.
constexpr std::int64_t kNobody = INT64_MAX;

// The columns of a contribution: RunWords, where there are any; by event the least and the most calls of a rank, and requests
// from outside; the furthest iteration that a rank is in.
enum Place : std::size_t { kWords, kLeast, kMost, kRequested, kLatest, kColumns };

std::vector<std::uint32_t> events_of_run(const model::Model& model) {
  std::vector<std::uint32_t> events;
  for (std::uint32_t i = 0; i < model.events.size(); ++i)
    if (model.events[i].scope == model::Event::Scope::run) events.push_back(i);
  return events;
}

const std::vector<std::int64_t>& integers(const comm::Outcome& outcome, Place place) {
  return std::get<comm::Integers>(outcome.columns[place]).values;
}

}  // namespace

void PendingSignals::add(const PendingSignal& signal) {
  const auto is_like = [&](const PendingSignal& each) {
    return each.iteration == signal.iteration && each.client == signal.client &&
           each.event == signal.event;
  };
  auto like = all_.end();
  if (!all_.empty() && is_like(all_.back())) like = std::prev(all_.end());
  if (all_.size() >= kMostInOrder) like = std::find_if(all_.begin(), all_.end(), is_like);
  if (like != all_.end()) {
    like->times += signal.times;
  } else {
    all_.push_back(signal);
  }
}

std::vector<PendingSignal> PendingSignals::take(std::int64_t iteration) {
  const auto later =
      std::stable_partition(all_.begin(), all_.end(),
                            [&](const PendingSignal& each) { return each.iteration <= iteration; });
  std::vector<PendingSignal> taken(all_.begin(), later);
  all_.erase(all_.begin(), later);
  return taken;
}

bool PendingSignals::any_until(std::int64_t iteration) const noexcept {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const PendingSignal& each) { return each.iteration <= iteration; });
}

RunIterations::RunIterations(const Run& run, const Clients& clients,
                             const IterationTracker& iterations, const Dropped& dropped,
                             RunSteering& steering, RunRounds& rounds)
    : run_(run),
      clients_(clients),
      iterations_(iterations),
      dropped_(dropped),
      steering_(steering),
      rounds_(rounds),
      events_(is_on() ? events_of_run(run.model) : std::vector<std::uint32_t>()),
      drops_together_(is_on() && run.model.architecture.drops_together()),
      holds_(drops_together_ || !events_.empty()),
      counts_(events_.size(), clients),
      requested_(events_.size()),
      happened_(events_.size()),
      spread_(events_.size()) {
  rounds_.listen(channel::iterations,
                 {.contributed = [this](const comm::Round& round) { contributed(round.number); },
                  .outcome = [this](const comm::Outcome& outcome) { take(outcome); }});
}

bool RunIterations::has(std::uint32_t event) const noexcept {
  return std::count(events_.begin(), events_.end(), event) > 0;
}

std::size_t RunIterations::place_of(std::uint32_t event) const {
  return static_cast<std::size_t>(std::find(events_.begin(), events_.end(), event) -
                                  events_.begin());
}

// ---- what this server reports ----

comm::Columns RunIterations::columns(std::int64_t iteration, bool ends) const {
  CallCounts counts = counts_;
  for (const PendingSignal& each : pending_.all())
    if (each.iteration <= iteration) counts.add(place_of(each.event), each.client, each.times);
  comm::Integers least{Op::min, {}}, most{Op::max, {}}, requested{Op::sum, requested_};
  for (std::size_t event = 0; event < events_.size(); ++event) {
    const std::int64_t all = counts.least(event);
    least.values.push_back(all < 0 ? kNobody : all);
    most.values.push_back(counts.most(event));
  }
  RunWords words;
  steering_.add_to(&words);
  if (drops_together_ && dropped_.has(iteration)) words.dropped = own_node_name(run_.facts);
  words.ends = ends;
  comm::Gathered gathered;
  if (!words.empty()) gathered.parts[rounds_.self()] = bytes_of(words);
  return {std::move(gathered), std::move(least), std::move(most), std::move(requested),
          comm::Integers{Op::max, {furthest()}}};
}

void RunIterations::contributed(std::int64_t iteration) {
  if (iteration == INT64_MAX) {
    has_ended_ = true;
    return;
  }
  count(iteration);
  std::fill(requested_.begin(), requested_.end(), 0);
  steering_.contributed();
}

void RunIterations::count(std::int64_t iteration) {
  reported_ = iteration;
  for (const PendingSignal& each : pending_.take(iteration))
    counts_.add(place_of(each.event), each.client, each.times);
}

// To the rounds before the one in which its ranks begin this server contributes nothing.
void RunIterations::skip_to_first() {
  if (reported_ >= 0) return;
  const std::int64_t first = iterations_.first();
  if (first == 0 || iterations_.least() < first) return;
  reported_ = first - 1;
  next_ = std::max(next_, first);
}

std::int64_t RunIterations::furthest() const {
  std::int64_t furthest = 0;
  for (std::uint32_t i = 0; i < clients_.size(); ++i)
    furthest = std::max(furthest, iterations_.current(i));
  return furthest;
}

void RunIterations::ended(std::int64_t first, std::int64_t last) {
  if (!is_on() || has_ended_) return;
  for (std::int64_t i = std::max(first, reported_ + 1); i <= last; ++i)
    ended_.insert(ended_.end(), i);
}

// When no rank is left, nothing more of this server is waited for. Which server this is, and so whose words these are, is known
// when the others are. Ranks that are far ahead of all others are reported later: each open round costs something.
void RunIterations::advance() {
  if (!is_on() || has_ended_ || !rounds_.has_begun()) return;
  const bool ends = iterations_.least() == INT64_MAX;
  const std::int64_t until = ends ? std::max(reported_, furthest()) : iterations_.least() - 1;
  if (ends) ended_.insert(until);
  skip_to_first();
  // The others have not waited for a server that was silent for too long.
  if (const std::int64_t missed = std::min(until, next_ - 1); reported_ < missed) count(missed);
  ended_.erase(ended_.begin(), ended_.lower_bound(std::min(next_, reported_ + 1)));
  auto next = ended_.upper_bound(reported_);
  auto open = std::distance(ended_.begin(), next);
  for (; next != ended_.end() && *next <= until && open <= kMostUnanswered; ++open, ++next)
    rounds_.contribute({channel::iterations, *next}, columns(*next, ends && *next == until));
  if (ends && reported_ >= until) rounds_.end(channel::iterations);
}

// ---- what all have agreed on ----

void RunIterations::take(const comm::Outcome& outcome) {
  if (outcome.round.number == INT64_MAX) return;
  next_ = outcome.round.number + 1;
  run_.made_progress();
  note_missing(outcome);
  if (outcome.columns.size() != kColumns) return;
  take_events(outcome);
  take_words(outcome);
}

void RunIterations::take_events(const comm::Outcome& outcome) {
  std::vector<std::int64_t> times(events_.size());
  bool any = false;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const std::int64_t least = integers(outcome, kLeast)[i], most = integers(outcome, kMost)[i];
    const std::int64_t requested = integers(outcome, kRequested)[i];
    const std::int64_t by_ranks = std::max(happened_[i].by_ranks, least == kNobody ? most : least);
    times[i] = by_ranks - happened_[i].by_ranks + requested;
    happened_[i] = {by_ranks, happened_[i].by_request + requested};
    spread_[i] = {least, most};
    any = any || times[i] > 0;
  }
  if (!any) return;
  agreed_[outcome.round.number] = std::move(times);
  new_.push_back(outcome.round.number);
}

void RunIterations::take_words(const comm::Outcome& outcome) {
  const std::int64_t iteration = outcome.round.number;
  std::vector<std::pair<comm::Rank, RunWords>> all;
  std::vector<std::string> names;
  for (const auto& [server, bytes] : std::get<comm::Gathered>(outcome.columns[kWords]).parts) {
    std::optional<RunWords> words = run_words_in(bytes);
    if (!words) continue;
    if (!words->dropped.empty() && names.size() < kMostNamed) names.push_back(words->dropped);
    all.emplace_back(server, std::move(*words));
  }
  steering_.take(all, outcome, integers(outcome, kLatest)[0]);
  if (!names.empty() && drops_together_ && !dropped_.has(iteration))
    drops_.emplace_back(iteration, "dropped on " + joined(names, ", ") +
                                       ", so that all nodes have the same iterations");
}

void RunIterations::note_alone(std::int64_t next) {
  if (!rounds_.is_alone() || std::exchange(is_alone_, true)) return;
  const std::int64_t first = std::min(next, rounds_.unsure_from());
  const bool is_after_all = has_ended_ && first > reported_;
  (holds_ && !is_after_all && !run_.facts.drained ? lost_ : warnings_)
      .push_back(fmt::format(
          "{} this server goes on without the other servers of the run: {}",
          is_after_all ? "after its last iteration" : fmt::format("from iteration {} on", first),
          rounds_.why_alone()));
}

void RunIterations::look_whether_alone() {
  if (is_on() && has_ended_ && next_ > reported_) note_alone(next_);
}

// Who has died before it reported the iteration. All others are in it, or have ended.
void RunIterations::note_missing(const comm::Outcome& outcome) {
  note_alone(outcome.round.number);
  const comm::RankSet missing = rounds_.dead() - outcome.of - missing_;
  if (missing.empty()) return;
  missing_ += missing;
  for (const comm::Rank server : missing.ranks()) {
    if (warnings_.size() == kMostNamed) break;
    warnings_.push_back(
        fmt::format("{} has reported nothing for too long: from iteration {} on the run goes on "
                    "without its ranks",
                    rounds_.name_of(server), outcome.round.number));
  }
}

std::vector<Signal> RunIterations::agreed(std::int64_t iteration) const {
  std::vector<Signal> signals;
  const auto found = agreed_.find(iteration);
  for (std::size_t i = 0; found != agreed_.end() && i < found->second.size(); ++i) {
    if (found->second[i] > 0)
      signals.push_back({events_[i], -1, static_cast<std::uint32_t>(found->second[i])});
  }
  return signals;
}

std::vector<Signal> RunIterations::take(std::int64_t iteration) {
  std::vector<Signal> signals = agreed(iteration);
  agreed_.erase(iteration);
  return signals;
}

// ---- who is waited for ----

bool RunIterations::waits() const noexcept { return is_on() && holds_ && next_ <= reported_; }

std::string RunIterations::awaited() const {
  const bool looks_for_others =
      is_on() && holds_ && !rounds_.has_begun() && iterations_.least() > next_;
  if (!waits() && !looks_for_others) return "";
  return fmt::format("iteration {} waits for {}", next_, rounds_.awaited());
}

std::int64_t RunIterations::missing(std::uint32_t event, std::string* why) const {
  const std::size_t place = place_of(event);
  const auto [least, most] = spread_[place];
  *why = least == kNobody
             ? "the ranks that had not signalled it have died"
             : fmt::format("a rank of the run has signalled it {}, another one only {}",
                           counted(static_cast<std::uint64_t>(most), "time"),
                           counted(static_cast<std::uint64_t>(least), "time"));
  std::int64_t signalled = most;
  if (next_ <= reported_) signalled = std::max(signalled, counts_.most(place));
  return signalled - happened_[place].by_ranks;
}

// ---- recovery where a server has died ----

void RunIterations::apply(const RunIterationsSnapshot& record) {
  if (!is_on() || record.happened.size() != events_.size()) return;
  pending_ = PendingSignals(record.pending);
  counts_.assign(record.counts);
  requested_ = record.requested;
  reported_ = record.reported;
  next_ = record.next;
  happened_ = record.happened;
  agreed_ = record.agreed;
}

RunIterationsSnapshot RunIterations::snapshot() const {
  return {pending_.all(), counts_.all(), requested_, reported_, next_, happened_, agreed_};
}

std::vector<std::int64_t> RunIterations::take_over(std::int64_t done) {
  forget(done);
  new_.clear();
  // Which of them the ranks went over is not known any more.
  const std::int64_t reported = furthest();
  ended(std::max(reported_ + 1, reported - kMostUnanswered), reported - 1);
  std::vector<std::int64_t> all;
  for (const auto& [iteration, times] : agreed_) all.push_back(iteration);
  return all;
}

}  // namespace leat::server
