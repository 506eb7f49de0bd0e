// SPDX-License-Identifier: Apache-2.0
#include "server/session/signals.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "lib/base/suggest.hpp"
#include "lib/base/words.hpp"

namespace leat::server {
namespace {

using nlohmann::json;
using Phase = ClientLink::Phase;

// A rank that signals without end keeps no more than this in order.
constexpr std::size_t kMostInOrder = std::size_t{1} << 16;

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
                 SessionJournal& journal)
    : run_(run),
      clients_(clients),
      iterations_(iterations),
      journal_(journal),
      counts_(run.model.events.size(), std::vector<std::uint64_t>(clients.size())),
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

// In a row, or when there are very many, they are counted.
void Signals::keep(const Said& said) {
  const auto is_like = [&](const Said& each) {
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
  note({{"ordered", number}});
  ready_.push_back({number, -1});
  open_next();
  return "";
}

void Signals::open_next() {
  if (const std::optional<std::int64_t> next = iterations_.next()) iterations_.touch(*next);
}

// By rank, each rank's in its order.
std::vector<Signals::Said> Signals::take_said(std::int64_t iteration) {
  const auto later = std::stable_partition(
      said_.begin(), said_.end(), [&](const Said& each) { return each.iteration <= iteration; });
  std::vector<Said> taken(said_.begin(), later);
  said_.erase(said_.begin(), later);
  std::stable_sort(taken.begin(), taken.end(), [this](const Said& a, const Said& b) {
    return clients_[a.client].rank() < clients_[b.client].rank();
  });
  return taken;
}

// As often as all have signalled it that can.
std::uint64_t Signals::due(std::uint32_t event) const {
  std::uint64_t least = most(event);
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    const ClientLink& client = clients_[i];
    const bool is_dead = client.phase() == Phase::dead || client.phase() == Phase::cut_off ||
                         (client.is_gone() && client.never_came());
    if (!is_dead) least = std::min(least, counts_[event][i]);
  }
  return least;
}

std::uint64_t Signals::most(std::uint32_t event) const {
  return counts_[event].empty() ? 0
                                : *std::max_element(counts_[event].begin(), counts_[event].end());
}

std::vector<Signal> Signals::decide(std::int64_t iteration) {
  if (run_.model.events.empty()) return {};
  if (const auto known = decided_.find(iteration); known != decided_.end()) return known->second;
  std::vector<Signal> all = std::exchange(ready_, {});
  for (const Said& each : take_said(iteration)) {
    if (awaits_all(each.event)) {
      count(each);
    } else {
      all.push_back({each.event, clients_[each.client].rank(), each.times});
    }
  }
  for (std::uint32_t event = 0; event < counts_.size(); ++event) {
    const std::uint64_t often = due(event);
    if (often <= happened_[event]) continue;
    all.push_back({event, -1, static_cast<std::uint32_t>(often - happened_[event])});
    happened_[event] = often;
  }
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
  const bool any = std::any_of(said_.begin(), said_.end(),
                               [&](const Said& each) { return each.iteration <= iteration; });
  if (any || !ready_.empty()) open_next();
}

std::string Signals::why_not(std::uint32_t event) const {
  const std::vector<std::uint64_t>& counts = counts_[event];
  const auto high = std::max_element(counts.begin(), counts.end());
  const auto low = std::min_element(counts.begin(), counts.end());
  const auto name_at = [&](auto at) {
    return clients_.name_of(static_cast<std::uint32_t>(at - counts.begin()));
  };
  return fmt::format("{} has signalled it {}, {} only {}", name_at(high), counted(*high, "time"),
                     name_at(low), counted(*low, "time"));
}

std::vector<std::string> Signals::never_happened() const {
  std::vector<std::string> lines;
  const auto say = [&](std::uint32_t event, std::uint64_t times, const std::string& why) {
    lines.push_back(fmt::format("event \"{}\" was signalled and did not happen, {}: {}",
                                run_.model.events[event].name, counted(times, "time"), why));
  };
  for (std::uint32_t event = 0; event < counts_.size(); ++event) {
    const std::uint64_t missing = most(event) - happened_[event];
    if (missing > 0) say(event, missing, why_not(event));
  }
  std::vector<std::uint64_t> without_next(counts_.size());
  for (const Said& each : said_) without_next[each.event] += each.times;
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
    ready_.push_back({entry["ordered"], -1});
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
  for (const Said& each : take_said(iteration)) {
    if (awaits_all(each.event)) count(each);
  }
  happened_ = entry["happened"].get<std::vector<std::uint64_t>>();
  decided_[iteration] = signals_of(entry["signals"]);
}

void Signals::take_all(const json& entry) {
  for (const json& each : entry["said"]) said_.push_back({each[0], each[1], each[2], each[3]});
  ready_ = signals_of(entry["ready"]);
  counts_ = entry["counts"].get<std::vector<std::vector<std::uint64_t>>>();
  happened_ = entry["happened"].get<std::vector<std::uint64_t>>();
  for (const json& each : entry["past"]) decided_[each[0]] = signals_of(each[1]);
}

void Signals::take_over(std::int64_t done) {
  forget(done);
  for (const auto& [iteration, signals] : decided_) iterations_.touch(iteration);
  bool is_late = !ready_.empty();
  for (const Said& each : said_) {
    iterations_.touch(each.iteration);
    is_late = is_late || each.iteration <= done || iterations_.is_dropped(each.iteration);
  }
  if (is_late) open_next();
}

json Signals::all() const {
  json said = json::array(), past = json::array();
  for (const Said& each : said_)
    said.push_back({each.iteration, each.client, each.event, each.times});
  for (const auto& [iteration, signals] : decided_) past.push_back({iteration, listed(signals)});
  return {{"said", std::move(said)},
          {"ready", listed(ready_)},
          {"counts", counts_},
          {"happened", happened_},
          {"past", std::move(past)}};
}

std::vector<json> Signals::entries() const {
  if (run_.model.events.empty()) return {};
  return {{{"signals", all()}}};
}

}  // namespace leat::server
