// SPDX-License-Identifier: Apache-2.0
#include "server/state/signals/signals.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"

namespace leat::server {
Signals::Signals(const Run& run, Clients& clients, IterationTracker& iterations,
                 SessionJournal& journal, const Dropped& dropped, RunIterations& of_run)
    : run_(run),
      clients_(clients),
      iterations_(iterations),
      journal_(journal),
      dropped_(dropped),
      of_run_(of_run),
      counts_(run.model.events.size(), clients),
      happened_(run.model.events.size()) {}

bool Signals::awaits_all(std::uint32_t event) const {
  return run_.model.events[event].scope != model::Event::Scope::rank;
}

// With the number of the ring's event, which counts as taken only after this: a server that takes over
// knows whether it comes once more.
void Signals::receive(std::uint32_t client, std::uint32_t event, std::int64_t iteration) {
  const PendingSignal signal{iteration, client, event};
  journal_.append(SignalReceived{signal, clients_[client].saved().events + 1});
  add(signal);
  iterations_.touch(iteration);
  if (iterations_.is_dropped(iteration)) open_next();
}

void Signals::add(const PendingSignal& signal) {
  if (of_run_.has(signal.event)) return of_run_.add(signal);
  pending_.add(signal);
}

std::string Signals::request(const std::string& name) {
  const std::vector<model::Event>& events = run_.model.events;
  const auto event = std::find_if(events.begin(), events.end(),
                                  [&](const model::Event& each) { return each.name == name; });
  if (event == events.end()) {
    std::vector<std::string> names;
    for (const model::Event& each : events) names.push_back(each.name);
    return "the XML declares no event \"" + name + "\"" + did_you_mean(name, names) +
           (names.empty() ? ": <actions><event name=\"...\"/></actions> does" : "");
  }
  if (!iterations_.next()) return "all ranks have ended: no iteration comes any more";
  const auto number = static_cast<std::uint32_t>(event - events.begin());
  journal_.append(SignalRequested{number});
  add_requested(number);
  open_next();
  return "";
}

void Signals::add_requested(std::uint32_t event) {
  if (of_run_.has(event)) return of_run_.request(event);
  ready_.push_back({{event, -1}});
}

void Signals::open_next() {
  if (const std::optional<std::int64_t> next = iterations_.next()) iterations_.touch(*next);
}

// By rank, each rank's in its order.
std::vector<PendingSignal> Signals::take_pending(std::int64_t iteration) {
  std::vector<PendingSignal> taken = pending_.take(iteration);
  std::stable_sort(taken.begin(), taken.end(), [this](const auto& a, const auto& b) {
    return clients_[a.client].rank() < clients_[b.client].rank();
  });
  return taken;
}

std::vector<Signal> Signals::take_ready(std::int64_t iteration) {
  std::vector<Signal> taken;
  for (const ReadySignal& each : ready_)
    if (each.after < iteration) taken.push_back(each.signal);
  std::erase_if(ready_, [iteration](const ReadySignal& each) { return each.after < iteration; });
  return taken;
}

void Signals::advance() {
  of_run_.advance();
  for (const std::int64_t iteration : of_run_.take_agreed()) take_agreed(iteration);
}

// In an iteration that this server has dropped nothing can happen.
void Signals::take_agreed(std::int64_t iteration) {
  if (!dropped_.has(iteration)) return iterations_.touch(iteration);
  journal_.append(RunSignalsDeferred{iteration});
  defer_agreed(iteration);
  open_next();
}

void Signals::defer_agreed(std::int64_t iteration) {
  for (const Signal& each : of_run_.take(iteration)) ready_.push_back({each, iteration});
}

std::vector<Signal> Signals::decide(std::int64_t iteration) {
  if (run_.model.events.empty()) return {};
  if (const auto known = decided_.find(iteration); known != decided_.end()) return known->second;
  std::vector<Signal> all = take_ready(iteration);
  for (const PendingSignal& each : take_pending(iteration)) {
    if (awaits_all(each.event)) {
      count(each);
    } else {
      all.push_back({each.event, clients_[each.client].rank(), each.times});
    }
  }
  for (std::uint32_t event = 0; event < counts_.events(); ++event) {
    const std::int64_t least = counts_.least(event);
    const std::int64_t often = least < 0 ? counts_.most(event) : least;
    if (often <= happened_[event]) continue;
    all.push_back({event, -1, static_cast<std::uint32_t>(often - happened_[event])});
    happened_[event] = often;
  }
  for (const Signal& each : of_run_.agreed(iteration)) all.push_back(each);
  if (all.empty()) return all;
  journal_.append(SignalsDecided{iteration, all, happened_});
  decided_[iteration] = all;
  return all;
}

void Signals::defer(std::int64_t iteration) {
  if (!undecide(iteration)) return;
  journal_.append(SignalsDeferred{iteration});
  open_next();
}

bool Signals::undecide(std::int64_t iteration) {
  const auto found = decided_.find(iteration);
  if (found == decided_.end()) return false;
  for (const Signal& each : found->second) ready_.push_back({each, iteration});
  decided_.erase(found);
  return true;
}

void Signals::iteration_dropped(std::int64_t iteration) {
  if (pending_.any_until(iteration) || !ready_.empty()) open_next();
}

std::int64_t Signals::missing(std::uint32_t event, std::string* why) const {
  if (of_run_.has(event)) return of_run_.missing(event, why);
  *why = counts_.difference(event);
  return counts_.most(event) - happened_[event];
}

std::vector<std::string> Signals::never_happened() const {
  std::vector<std::string> lines;
  const auto add = [&](std::uint32_t event, std::uint64_t times, const std::string& why) {
    lines.push_back(fmt::format("event \"{}\" was signalled and did not happen, {}: {}",
                                run_.model.events[event].name, counted(times, "time"), why));
  };
  for (std::uint32_t event = 0; event < counts_.events(); ++event) {
    std::string why;
    const std::int64_t times = missing(event, &why);
    if (times > 0) add(event, static_cast<std::uint64_t>(times), why);
  }
  std::vector<std::uint64_t> without_next(counts_.events());
  for (const PendingSignal& each : pending_.all()) without_next[each.event] += each.times;
  for (const ReadySignal& each : ready_) without_next[each.signal.event] += each.signal.times;
  for (std::uint32_t event = 0; event < without_next.size(); ++event) {
    if (without_next[event] > 0)
      add(event, without_next[event], "its iteration was dropped, and none came after it");
  }
  return lines;
}

// One that the server before this one had not counted as taken is in the ring still.
void Signals::apply(const SignalReceived& record) {
  if (record.signal.client < clients_.size() &&
      record.number <= clients_[record.signal.client].saved().events)
    add(record.signal);
}

void Signals::apply(const SignalsDecided& record) {
  take_ready(record.iteration);
  for (const PendingSignal& each : take_pending(record.iteration)) {
    if (awaits_all(each.event)) count(each);
  }
  happened_ = record.happened;
  decided_[record.iteration] = record.signals;
}

void Signals::apply(const SignalsSnapshot& record) {
  pending_ = PendingSignals(record.pending);
  ready_ = record.ready;
  counts_.assign(record.counts);
  happened_ = record.happened;
  decided_ = record.decided;
}

void Signals::take_over(std::int64_t done) {
  forget(done);
  for (const auto& [iteration, signals] : decided_) iterations_.touch(iteration);
  bool is_late = !ready_.empty();
  for (const PendingSignal& each : pending_.all()) {
    iterations_.touch(each.iteration);
    is_late = is_late || each.iteration <= done || iterations_.is_dropped(each.iteration);
  }
  if (is_late) open_next();
  for (const std::int64_t iteration : of_run_.take_over(done)) take_agreed(iteration);
}

std::vector<JournalRecord> Signals::snapshot() const {
  if (run_.model.events.empty()) return {};
  return {SignalsSnapshot{pending_.all(), ready_, counts_.all(), happened_, decided_}};
}

}  // namespace leat::server
