// SPDX-License-Identifier: Apache-2.0
#include "server/state/group/run_steering.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace leat::server {
namespace {

// Iterations from the furthest rank to the one that a value holds from.
constexpr std::int64_t kLeastLead = 2, kMostLead = 1 << 20;
// All servers have to hear within half of it that all can: a loaded machine may keep a server from that for long.
constexpr double kLeastSeconds = 2;
constexpr std::int64_t kPaceWindowNs = 100'000'000;
constexpr double kForget = 0.8;  // of a pace, each time that it is measured

}  // namespace

std::string RunSteering::request(const SteeringRequest& request) {
  if (std::string why = parameters_.steering().why_not(request.parameter, request.value);
      !why.empty())
    return why;
  const RunOrderReceived record{
      {request.parameter, request.value, request.who, std::max(kLeastLead, lead_at_this_pace())}};
  journal_.append(record);
  // The newest of a parameter counts, where the others have yet to get it.
  std::erase_if(orders_, [&](const RunOrder& each) { return each.parameter == request.parameter; });
  apply(record);
  return "";
}

void RunSteering::add_to(RunWords* words) const {
  words->orders = orders_;
  words->votes = votes_;
}

void RunSteering::contributed() {
  orders_.clear();
  votes_.clear();
}

void RunSteering::take(const std::vector<std::pair<comm::Rank, RunWords>>& words,
                       const comm::Outcome& outcome, std::int64_t latest) {
  measure_pace(latest);
  for (const auto& [server, said] : words) {
    if (said.ends) ended_ += server;
    for (const auto& [number, wanted] : said.votes) {
      for (RunProposal& each : proposals_) {
        if (each.number != number) continue;
        std::erase(each.awaited, server);
        if (wanted != 0) each.refused.push_back(server);
        each.wanted = std::max(each.wanted, wanted);
      }
    }
  }
  const comm::RankSet voters = outcome.of - ended_;
  for (RunProposal& each : proposals_) {
    std::erase_if(each.awaited, [&voters](comm::Rank server) { return !voters.has(server); });
    if (each.is_shown && each.awaited.empty()) decide(&each, voters, latest);
  }
  std::erase_if(proposals_,
                [](const RunProposal& each) { return each.is_shown && each.awaited.empty(); });
  for (const auto& [server, said] : words) {
    for (const RunOrder& order : said.orders) {
      std::erase_if(proposals_, [&](RunProposal& each) {
        const bool is_same = each.order.parameter == order.parameter;
        if (is_same) parameters_.steering().withdraw(order.parameter);
        return is_same;
      });
      proposals_.push_back({.order = order});
    }
  }
  // Ranks have to have seen the last value of the parameter: all of them are past this iteration.
  for (RunProposal& each : proposals_) {
    const auto last = effective_.find(each.order.parameter);
    const bool is_free = last == effective_.end() || last->second < outcome.round.number;
    if (!each.is_shown && is_free) propose(&each, voters, latest);
  }
}

void RunSteering::propose(RunProposal* proposal, const comm::RankSet& voters, std::int64_t latest) {
  const RunOrder& order = proposal->order;
  proposal->is_shown = true;
  proposal->number = next_++;
  proposal->effective = latest + 1 + order.lead;
  proposal->awaited = voters.ranks();
  proposal->refused.clear();
  proposal->wanted = 0;
  const std::int64_t needed = lead_at_this_pace();
  const bool is_good =
      !is_live_ || (needed > 0 && parameters_.steering().propose(order.parameter, order.value,
                                                                 proposal->effective,
                                                                 std::max(order.lead, needed) / 2));
  votes_.emplace_back(proposal->number, is_good ? 0 : needed);
}

// Iterations that ranks may do until all servers have heard of a vote. -1: it is not known yet.
std::int64_t RunSteering::lead_at_this_pace() const {
  if (!knows_pace_) return -1;
  return std::clamp(static_cast<std::int64_t>(std::ceil(kLeastSeconds * pace_)), kLeastLead,
                    kMostLead);
}

// The fastest of late: ranks that waited for a core may soon have one.
void RunSteering::measure_pace(std::int64_t latest) {
  if (since_ns_ == 0) since_ns_ = run_.now_ns, since_ = latest;
  const std::int64_t passed_ns = run_.now_ns - since_ns_;
  if (passed_ns < kPaceWindowNs) return;
  const double now = static_cast<double>(latest - since_) * 1e9 / static_cast<double>(passed_ns);
  pace_ = std::max(now, kForget * pace_);
  knows_pace_ = true;
  since_ns_ = run_.now_ns;
  since_ = latest;
}

// Awaits nobody afterwards, or, proposed anew, all voters.
void RunSteering::decide(RunProposal* proposal, const comm::RankSet& voters, std::int64_t latest) {
  RunOrder& order = proposal->order;
  Steering& steering = parameters_.steering();
  if (proposal->refused.empty()) {
    effective_[order.parameter] = proposal->effective;
    if (!is_live_) {
      decided_.push_back(*proposal);
    } else if (!steering.commit(order.parameter, order.value, proposal->effective, order.who)) {
      set_late(*proposal);
    }
    return;
  }
  steering.withdraw(order.parameter);
  const std::int64_t wanted = proposal->wanted;
  if (order.lead >= kMostLead && wanted > 0) {
    warnings_.push_back(
        fmt::format("parameter \"{}\" does not get the value that {} has set: ranks of some "
                    "servers are always past the iteration that all could have it from",
                    order.parameter, order.who));
    return;
  }
  if (wanted > 0) order.lead = wanted > order.lead ? wanted : 2 * order.lead;
  propose(proposal, voters, latest);
}

void RunSteering::set_late(const RunProposal& proposal) {
  const RunOrder& order = proposal.order;
  (void)parameters_.steering().set(order.parameter, order.value, order.who);
  warnings_.push_back(
      fmt::format("parameter \"{}\": other servers give their ranks the value that {} has set from "
                  "iteration {} on; ranks of this server were past it, and have it later",
                  order.parameter, order.who, proposal.effective));
}

std::vector<std::string> RunSteering::undecided() const {
  std::vector<std::string> lines;
  const auto add = [&lines](const RunOrder& order) {
    lines.push_back(fmt::format(
        "parameter \"{}\" has not got the value that {} has set: the run ended before all servers "
        "had agreed on an iteration",
        order.parameter, order.who));
  };
  for (const RunProposal& each : proposals_) add(each.order);
  for (const RunOrder& each : orders_) add(each);
  return lines;
}

// ---- recovery where a server has died ----

void RunSteering::apply(const RunSteeringSnapshot& record) {
  orders_ = record.orders;
  proposals_ = record.proposals;
  votes_ = record.votes;
  next_ = record.next;
  effective_ = record.effective;
  for (const comm::Rank server : record.ended) ended_ += server;
}

// What the server before this one had proposed was withdrawn when this one took over. Its vote stays; a proposal that
// comes too late now is seen at its end.
void RunSteering::start() {
  is_live_ = true;
  for (const RunProposal& each : std::exchange(decided_, {}))
    if (parameters_.steering().effective(each.order.parameter) < each.effective) set_late(each);
  for (const RunProposal& each : proposals_) {
    if (!each.is_shown) continue;
    const bool is_good =
        parameters_.steering().propose(each.order.parameter, each.order.value, each.effective, 0);
    for (auto& [number, vote] : votes_)
      if (number == each.number) vote = is_good;
  }
}

}  // namespace leat::server
