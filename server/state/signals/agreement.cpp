// SPDX-License-Identifier: Apache-2.0
#include "server/state/signals/agreement.hpp"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/text.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

constexpr int kReportVersion = 2;

bool makes_sense(const Report& report, std::size_t events) {
  const auto comes_before = [](const Step& a, const Step& b) { return a.iteration < b.iteration; };
  return report.ranks > 0 &&
         std::is_sorted(report.steps.begin(), report.steps.end(), comes_before) &&
         std::all_of(report.steps.begin(), report.steps.end(),
                     [&](const Step& each) { return each.tallies.size() == events; });
}

}  // namespace

const std::vector<Tally>* Report::at(std::int64_t iteration) const noexcept {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), iteration,
                       [](std::int64_t value, const Step& step) { return value < step.iteration; });
  return after == steps.begin() ? nullptr : &std::prev(after)->tallies;
}

static void to_json(json& to, const Tally& tally) {
  to = {tally.least, tally.most, tally.requested};
}
static void from_json(const json& from, Tally& tally) {
  tally = {from.at(0), from.at(1), from.at(2)};
}
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Step, iteration, tallies)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, name, ranks, knows, beat, first, until, decided, ended,
                                   gave_up, steps)

std::string line_of(const Report& report) {
  json words = report;
  words["leat_group"] = kReportVersion;
  return words.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Report> report_in(const std::string& line, std::size_t events) {
  try {
    const json words = json::parse(line);
    if (words.at("leat_group") != kReportVersion) return std::nullopt;
    auto report = words.get<Report>();
    if (makes_sense(report, events)) return report;
  } catch (const std::exception&) {  // whatever lies in that folder
  }
  return std::nullopt;
}

namespace {

bool knows(const Report& report, const std::string& server) {
  return std::count(report.knows.begin(), report.knows.end(), server) > 0;
}

Tally tally_of(const Report& report, std::int64_t iteration, std::size_t event) {
  const std::vector<Tally>* const all = report.at(iteration);
  return all ? (*all)[event] : Tally{};
}

}  // namespace

Agreement::Agreement(std::string self, std::int32_t ranks, std::size_t events)
    : self_(std::move(self)), ranks_(ranks), events_(events), happened_(events) {}

void Agreement::resume(std::int64_t next, std::vector<RunEventCount> happened) {
  next_ = next;
  if (happened.size() == events_) happened_ = std::move(happened);
}

bool Agreement::update(const std::vector<ServerLine>& all) {
  bool any = false;
  for (auto& [server, member] : seen_) member.is_there = false;
  for (const ServerLine& each : all) any |= take(each);
  if (!any || is_complete() || ranks_found() != ranks_) return any;
  for (const std::string& server : known()) members_[server] = &seen_[server];
  return any;
}

bool Agreement::take(const ServerLine& line) {
  ServerLine& last = last_[line.server];
  if (const auto known = seen_.find(line.server); known != seen_.end())
    known->second.is_there = true;
  if (last == line) return false;
  std::optional<Report> newest = report_in(line.line, events_);
  std::optional<Report> counts = line.final.empty() ? newest : report_in(line.final, events_);
  if (!newest || !counts) return false;
  last = line;
  Member& member = seen_[line.server];
  member.newest = std::move(*newest);
  member.counts = std::move(*counts);
  member.is_there = true;
  member.is_silenced = !line.final.empty();
  return true;
}

std::vector<std::string> Agreement::others() const {
  std::vector<std::string> all;
  for (const auto& [server, member] : seen_)
    if (server != self_) all.push_back(server);
  return all;
}

// What another run has left here knows nobody of this one. A server that was stopped at its start,
// and silenced for it, may not know this one either: it counts when nobody else can be meant.
bool Agreement::know_each_other(const std::string& server, const Member& member) const {
  const auto own = seen_.find(self_);
  return own != seen_.end() && knows(own->second.newest, server) &&
         (knows(member.newest, self_) || (member.is_silenced && all_have_published()));
}

std::vector<std::string> Agreement::known() const {
  std::vector<std::string> all;
  for (const auto& [server, member] : seen_)
    if (server == self_ || know_each_other(server, member)) all.push_back(server);
  return all;
}

bool Agreement::all_have_published() const {
  std::int64_t ranks = 0;
  for (const auto& [server, member] : seen_) ranks += member.newest.ranks;
  return ranks == ranks_;
}

std::int64_t Agreement::ranks_found() const {
  std::int64_t ranks = 0;
  for (const std::string& server : known()) ranks += seen_.at(server).newest.ranks;
  return ranks;
}

std::vector<Agreement::Other> Agreement::take_silenced() {
  std::vector<Other> all;
  for (auto& [server, member] : members_) {
    if (!member->is_silenced || std::exchange(member->is_reported, true)) continue;
    all.push_back({server, member->newest.name, member->newest.beat, member->counts.until});
  }
  return all;
}

// Of the next iteration, over all. Orders stay, whatever became of who had them.
Tally Agreement::sum(std::size_t event) const {
  Tally sum{-1, 0, 0};
  for (const auto& [server, member] : members_) {
    const Tally tally = tally_of(member->counts, next_, event);
    sum.requested += tally.requested;
    if (!member->counts.covers(next_)) continue;
    sum.most = std::max(sum.most, tally.most);
    if (tally.least < 0) continue;
    sum.least = sum.least < 0 ? tally.least : std::min(sum.least, tally.least);
  }
  return sum;
}

std::optional<std::vector<std::int64_t>> Agreement::decide() {
  const bool known = std::none_of(members_.begin(), members_.end(), [this](const auto& each) {
    return each.second->is_awaited(next_);
  });
  if (!is_complete() || !known) return std::nullopt;
  std::vector<std::int64_t> times(events_);
  for (std::size_t i = 0; i < events_; ++i) {
    const Tally all = sum(i);
    RunEventCount& happened = happened_[i];
    const std::int64_t by_ranks = std::max(happened.by_ranks, all.least < 0 ? all.most : all.least);
    times[i] = by_ranks - happened.by_ranks + all.requested - happened.by_request;
    happened = {by_ranks, all.requested};
  }
  ++next_;
  return times;
}

std::vector<Agreement::Other> Agreement::awaited() const {
  std::vector<Other> all;
  for (const auto& [server, member] : seen_) {
    if (is_complete() || !all_have_published() || server == self_ || member.is_silenced) continue;
    if (!know_each_other(server, member))
      all.push_back({server, member.newest.name, member.newest.beat, member.counts.until});
  }
  for (const auto& [server, member] : members_)
    if (server != self_ && member->is_awaited(next_))
      all.push_back({server, member->newest.name, member->newest.beat, member->counts.until});
  return all;
}

bool Agreement::is_left_behind() const {
  return std::any_of(members_.begin(), members_.end(),
                     [this](const auto& each) { return each.second->counts.first > next_; });
}

std::int64_t Agreement::decided_by_all() const {
  std::int64_t least = next_ - 1;
  for (const auto& [server, member] : members_)
    if (!member->newest.is_done()) least = std::min(least, member->newest.decided);
  return is_complete() ? least : -1;
}

bool Agreement::all_are_done() const {
  if (is_complete()) {
    return std::all_of(members_.begin(), members_.end(),
                       [](const auto& each) { return each.second->is_done(); });
  }
  return std::all_of(seen_.begin(), seen_.end(),
                     [](const auto& each) { return each.second.is_done(); });
}

std::int64_t Agreement::missing(std::size_t event, std::string* why) const {
  const Member *high = nullptr, *low = nullptr;
  const auto newest = [event](const Member& of) {
    return of.counts.steps.empty() ? Tally{} : of.counts.steps.back().tallies[event];
  };
  for (const auto& [server, member] : members_) {
    if (!high || newest(*member).most > newest(*high).most) high = member;
    if (newest(*member).least < 0 || member->is_silenced) continue;
    if (!low || newest(*member).least < newest(*low).least) low = member;
  }
  if (!high || newest(*high).most <= happened_[event].by_ranks) return 0;
  *why = low ? "a rank of " + high->newest.name + " has signalled it " +
                   counted(static_cast<std::uint64_t>(newest(*high).most), "time") + ", one of " +
                   low->newest.name + " only " +
                   counted(static_cast<std::uint64_t>(newest(*low).least), "time")
             : "the ranks that had not signalled it have died";
  return newest(*high).most - happened_[event].by_ranks;
}

}  // namespace leat::server
