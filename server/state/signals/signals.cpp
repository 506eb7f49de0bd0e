// SPDX-License-Identifier: Apache-2.0
#include "server/state/signals/signals.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"

namespace leat::server {
namespace {

using nlohmann::json;
using Phase = ClientLink::Phase;

json listed(const std::vector<Signal>& signals) {
  json all = json::array();
  for (const Signal& each : signals) all.push_back({each.event, each.rank, each.times});
  return all;
}

std::vector<Signal> signals_of(const json& entries) {
  std::vector<Signal> all;
  for (const json& each : entries) all.push_back({each[0], each[1], each[2]});
  return all;
}

}  // namespace

Signals::Signals(const Run& run, Clients& clients, IterationTracker& iterations,
                 SessionJournal& journal, const Dropped& dropped, RunSignals& of_run)
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
void Signals::signalled(std::uint32_t client, std::uint32_t event, std::int64_t iteration) {
  note({{"signal", event},
        {"client", client},
        {"iteration", iteration},
        {"number", clients_[client].saved().events + 1}});
  keep({iteration, client, event});
  iterations_.touch(iteration);
  if (iterations_.is_dropped(iteration)) open_next();
}

void Signals::keep(const SaidSignal& said) {
  if (of_run_.own().has(said.event)) return of_run_.own().keep(said);
  said_.keep(said);
}

std::string Signals::order(const std::string& name) {
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
  if (of_run_.own().has(number) && of_run_.own().report().gave_up)
    return "no event of scope=\"run\" happens on this server any more: " +
           of_run_.own().why_given_up();
  note({{"ordered", number}});
  order_of(number);
  open_next();
  return "";
}

void Signals::order_of(std::uint32_t event) {
  if (of_run_.own().has(event)) return of_run_.own().order(event);
  ready_.push_back({event, -1});
}

void Signals::open_next() {
  if (const std::optional<std::int64_t> next = iterations_.next()) iterations_.touch(*next);
}

// By rank, each rank's in its order.
std::vector<SaidSignal> Signals::take_said(std::int64_t iteration) {
  std::vector<SaidSignal> taken = said_.take(iteration);
  std::stable_sort(taken.begin(), taken.end(), [this](const SaidSignal& a, const SaidSignal& b) {
    return clients_[a.client].rank() < clients_[b.client].rank();
  });
  return taken;
}

void Signals::advance() {
  for (const std::int64_t iteration : of_run_.advance()) come_to_happen(iteration);
}

// In an iteration that this server has left out it cannot.
void Signals::come_to_happen(std::int64_t iteration) {
  if (!dropped_.has(iteration)) return iterations_.touch(iteration);
  note({{"too_late", iteration}});
  take_too_late(iteration);
  open_next();
}

void Signals::take_too_late(std::int64_t iteration) {
  const std::vector<Signal> all = of_run_.take(iteration);
  ready_.insert(ready_.end(), all.begin(), all.end());
}

std::vector<Signal> Signals::decide(std::int64_t iteration) {
  if (run_.model.events.empty()) return {};
  if (const auto known = decided_.find(iteration); known != decided_.end()) return known->second;
  std::vector<Signal> all = std::exchange(ready_, {});
  for (const SaidSignal& each : take_said(iteration)) {
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
  for (const Signal& each : of_run_.happening(iteration)) all.push_back(each);
  if (all.empty()) return all;
  note({{"decided", iteration}, {"signals", listed(all)}, {"happened", happened_}});
  decided_[iteration] = all;
  return all;
}

void Signals::give_back(const Iteration& iteration) {
  if (!undecide(iteration.number)) return;
  note({{"given_back", iteration.number}});
  open_next();
}

bool Signals::undecide(std::int64_t iteration) {
  const auto found = decided_.find(iteration);
  if (found == decided_.end()) return false;
  ready_.insert(ready_.end(), found->second.begin(), found->second.end());
  decided_.erase(found);
  return true;
}

void Signals::left_out(std::int64_t iteration) {
  if (said_.any_until(iteration) || !ready_.empty()) open_next();
}

std::int64_t Signals::missing(std::uint32_t event, std::string* why) const {
  if (of_run_.own().has(event)) return of_run_.missing(event, why);
  *why = counts_.difference(event);
  return counts_.most(event) - happened_[event];
}

std::vector<std::string> Signals::never_happened() const {
  std::vector<std::string> lines;
  const auto say = [&](std::uint32_t event, std::uint64_t times, const std::string& why) {
    lines.push_back(fmt::format("event \"{}\" was signalled and did not happen, {}: {}",
                                run_.model.events[event].name, counted(times, "time"), why));
  };
  for (std::uint32_t event = 0; event < counts_.events(); ++event) {
    std::string why;
    const std::int64_t times = missing(event, &why);
    if (times > 0) say(event, static_cast<std::uint64_t>(times), why);
  }
  std::vector<std::uint64_t> without_next(counts_.events());
  for (const SaidSignal& each : said_.all()) without_next[each.event] += each.times;
  for (const Signal& each : ready_) without_next[each.event] += each.times;
  for (std::uint32_t event = 0; event < without_next.size(); ++event) {
    if (without_next[event] > 0)
      say(event, without_next[event], "its iteration was left out, and none came after it");
  }
  return lines;
}

// In the order in which they were noted.
void Signals::take_entry(const json& entry) {
  if (entry.contains("said")) return take_all(entry);
  if (entry.contains("decided")) return take_decision(entry);
  if (entry.contains("given_back")) {
    undecide(entry["given_back"]);
  } else if (entry.contains("ordered")) {
    order_of(entry["ordered"]);
  } else if (entry.contains("too_late")) {
    take_too_late(entry["too_late"]);
  } else if (entry.contains("signal")) {
    const std::uint32_t client = entry["client"];
    const std::uint64_t number = entry["number"];
    // Else the server was killed before its effect counted: it is in the ring still.
    if (number <= clients_[client].saved().events)
      keep({entry["iteration"], client, entry["signal"]});
  }
}

void Signals::take_decision(const json& entry) {
  const std::int64_t iteration = entry["decided"];
  ready_.clear();
  for (const SaidSignal& each : take_said(iteration)) {
    if (awaits_all(each.event)) count(each);
  }
  happened_ = entry["happened"].get<std::vector<std::int64_t>>();
  decided_[iteration] = signals_of(entry["signals"]);
}

void Signals::take_all(const json& entry) {
  said_.take_words(entry["said"]);
  ready_ = signals_of(entry["ready"]);
  counts_.take_words(entry["counts"]);
  happened_ = entry["happened"].get<std::vector<std::int64_t>>();
  for (const json& each : entry["past"]) decided_[each[0]] = signals_of(each[1]);
}

void Signals::take_over(std::int64_t done) {
  forget(done);
  for (const auto& [iteration, signals] : decided_) iterations_.touch(iteration);
  bool is_late = !ready_.empty();
  for (const SaidSignal& each : said_.all()) {
    iterations_.touch(each.iteration);
    is_late = is_late || each.iteration <= done || iterations_.is_dropped(each.iteration);
  }
  if (is_late) open_next();
  for (const std::int64_t iteration : of_run_.take_over(done, journal_.is_new()))
    come_to_happen(iteration);
}

json Signals::all() const {
  json past = json::array();
  for (const auto& [iteration, signals] : decided_) past.push_back({iteration, listed(signals)});
  return {{"said", said_.in_words()},
          {"ready", listed(ready_)},
          {"counts", counts_.in_words()},
          {"happened", happened_},
          {"past", std::move(past)}};
}

std::vector<json> Signals::entries() const {
  if (run_.model.events.empty()) return {};
  std::vector<json> entries{{{"signals", all()}}};
  if (of_run_.is_on()) entries.push_back({{"run_signals", of_run_.in_words()}});
  return entries;
}

}  // namespace leat::server
