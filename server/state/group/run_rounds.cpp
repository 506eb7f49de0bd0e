// SPDX-License-Identifier: Apache-2.0
#include "server/state/group/run_rounds.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <variant>

namespace leat::server {
namespace {

bool is_reduction(const comm::Round& round) { return round.channel >= channel::reductions; }

template <class Kind>
std::optional<Kind> read(const std::string& bytes) {
  std::optional<comm::Message> message = comm::message_in(bytes);
  if (!message || !std::holds_alternative<Kind>(*message)) return std::nullopt;
  return std::move(std::get<Kind>(*message));
}

}  // namespace

void RunRounds::begin(std::unique_ptr<comm::Group> group) {
  group_ = std::move(group);
  for (const auto& [round, columns] : open_) {
    const std::string why = group_->contribute(round, columns);
    if (!why.empty())
      run_.log->error("the other servers of the run miss what this one has: {}", why);
  }
}

void RunRounds::contribute(const comm::Round& round, comm::Columns columns, Done done) {
  if (const auto known = reductions_.find(round); known != reductions_.end()) {
    again_.emplace_back(known->second, std::move(done));
    return;
  }
  awaited_by_[round] = std::move(done);
  const bool is_open = std::any_of(open_.begin(), open_.end(),
                                   [&round](const auto& each) { return each.first == round; });
  if (is_open) return;  // by the server before this one
  journal_.append(RoundContributed{
      comm::bytes_of(comm::Partial{round, self(), comm::RankSet(self()), columns})});
  std::string why = group_ ? group_->contribute(round, columns) : "";
  if (why.empty()) {
    open_.emplace_back(round, std::move(columns));
    return;
  }
  run_.log->error("the other servers of the run miss what this one has: {}", why);
  again_.emplace_back(comm::Outcome{0, 0, round, comm::RankSet(self()), std::move(columns)},
                      std::move(awaited_by_.extract(round).mapped()));
}

bool RunRounds::advance() {
  if (!group_) return false;
  std::vector<comm::Outcome> outcomes = group_->take_outcomes();
  for (comm::Outcome& each : outcomes) take(std::move(each));
  auto again = std::exchange(again_, {});
  for (auto& [outcome, done] : again)
    if (done) done(outcome);
  if (outcomes.empty()) return !again.empty();
  group_->confirm(known_);
  const std::int64_t confirmed = group_->status().confirmed;
  while (!unconfirmed_.empty() && unconfirmed_.front().sequence <= confirmed)
    unconfirmed_.pop_front();
  return true;
}

void RunRounds::take(comm::Outcome outcome) {
  journal_.append(RoundOutcome{comm::bytes_of(outcome)});
  store(outcome);
  auto awaited = awaited_by_.extract(outcome.round);
  if (!awaited.empty() && awaited.mapped()) awaited.mapped()(outcome);
}

// A round that is over ends those of lower numbers in its channel.
void RunRounds::store(const comm::Outcome& outcome) {
  known_ = std::max(known_, outcome.sequence);
  std::erase_if(open_, [&outcome](const auto& each) {
    return each.first.channel == outcome.round.channel && each.first.number <= outcome.round.number;
  });
  unconfirmed_.push_back(outcome);
  if (is_reduction(outcome.round)) reductions_[outcome.round] = outcome;
}

void RunRounds::forget(std::int64_t iteration) {
  std::erase_if(reductions_,
                [iteration](const auto& each) { return iteration_of(each.first) <= iteration; });
}

std::vector<comm::Round> RunRounds::take_awaited() {
  return group_ ? group_->take_awaited() : std::vector<comm::Round>();
}

bool RunRounds::is_open(std::uint64_t channel) const {
  return std::any_of(open_.begin(), open_.end(),
                     [channel](const auto& each) { return each.first.channel == channel; });
}

// ---- recovery where a server has died ----

void RunRounds::apply(const RoundContributed& record) {
  if (auto partial = read<comm::Partial>(record.partial))
    open_.emplace_back(partial->round, std::move(partial->columns));
}

void RunRounds::apply(const RoundOutcome& record) {
  if (const auto outcome = read<comm::Outcome>(record.outcome)) store(*outcome);
}

void RunRounds::apply(const RunRoundsSnapshot& record) {
  for (const std::string& each : record.outcomes) apply(RoundOutcome{each});
  known_ = std::max(known_, record.known);
  for (const std::string& each : record.reductions)
    if (const auto outcome = read<comm::Outcome>(each)) reductions_[outcome->round] = *outcome;
  for (const std::string& each : record.open) apply(RoundContributed{each});
}

RunRoundsSnapshot RunRounds::snapshot() const {
  RunRoundsSnapshot record{known_, {}, {}, {}};
  for (const comm::Outcome& each : unconfirmed_) record.outcomes.push_back(comm::bytes_of(each));
  for (const auto& [round, outcome] : reductions_)
    record.reductions.push_back(comm::bytes_of(outcome));
  for (const auto& [round, columns] : open_)
    record.open.push_back(
        comm::bytes_of(comm::Partial{round, self(), comm::RankSet(self()), columns}));
  return record;
}

}  // namespace leat::server
