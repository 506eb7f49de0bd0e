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

// Contributions of the server before this one are among what its group goes on from.
void RunRounds::begin(std::unique_ptr<comm::Group> group, std::vector<std::string> names) {
  group_ = std::move(group);
  names_ = std::move(names);
}

void RunRounds::contribute(const comm::Round& round, comm::Columns columns, Done done) {
  if (const auto known = reductions_.find(round); known != reductions_.end()) {
    again_.emplace_back(known->second, std::move(done));
    return;
  }
  if (done) awaited_by_[round] = std::move(done);
  const bool is_open = std::any_of(open_.begin(), open_.end(),
                                   [&round](const auto& each) { return each.first == round; });
  if (is_open) return;  // by the server before this one
  journal_.append(record_of(round, columns));
  note(round, columns);
  group_->contribute(round, std::move(columns));
}

const RunRounds::Listener* RunRounds::listener_of(const comm::Round& round) const {
  const auto found = listeners_.find(round.channel);
  return found == listeners_.end() ? nullptr : &found->second;
}

bool RunRounds::advance() {
  if (!has_news()) return false;
  const std::vector<comm::Outcome> outcomes =
      group_->take_outcomes();  // what comes after it is news
  for (const std::string& why : group_->take_refusals())
    if (refusals_.insert(why).second)
      run_.log->error("the other servers of the run miss what this one has: {}", why);
  for (const comm::Round& round : group_->take_awaited()) {
    const Listener* const each = listener_of(round);
    if (each && each->awaited) each->awaited(round);
    if (!each) awaited_.push_back(round);
  }
  const comm::Group::Status status = group_->status();
  if (status.why_alone.empty()) forget_confirmed(status.confirmed);  // alone, it confirms its own
  store(status);
  for (const comm::Outcome& each : outcomes) take(each);
  const auto again = std::exchange(again_, {});
  for (const auto& [outcome, done] : again)
    if (done) done(outcome);
  if (outcomes.empty()) return !again.empty();
  group_->confirm(known_);
  forget_confirmed(status.confirmed);
  return true;
}

void RunRounds::forget_confirmed(std::int64_t sequence) {
  while (!unconfirmed_.empty() && unconfirmed_.front().sequence <= sequence)
    unconfirmed_.pop_front();
}

// Not older than the outcomes that were taken before it.
void RunRounds::store(const comm::Group::Status& status) {
  if (status.view == view_ && status.why_alone == why_alone_) return;
  comm::Up up;
  up.view = status.view;
  const RunView record{comm::bytes_of(up), status.why_alone};
  journal_.append(record);
  apply(record);
}

// A round that is over ends those of lower numbers in its channel.
void RunRounds::take(const comm::Outcome& outcome) {
  journal_.append(RoundOutcome{comm::bytes_of(outcome)});
  note(outcome);
  while (!awaited_by_.empty()) {
    const auto first = awaited_by_.lower_bound({outcome.round.channel, INT64_MIN});
    if (first == awaited_by_.end() || outcome.round < first->first) break;
    const Done done = std::move(awaited_by_.extract(first).mapped());
    done(outcome);
  }
}

void RunRounds::forget(std::int64_t iteration) {
  std::erase_if(reductions_,
                [iteration](const auto& each) { return iteration_of(each.first) <= iteration; });
}

bool RunRounds::is_open(std::uint64_t channel) const {
  return std::any_of(open_.begin(), open_.end(),
                     [channel](const auto& each) { return each.first.channel == channel; });
}

std::string RunRounds::name_of(comm::Rank server) const {
  if (server == self()) return "this server";
  const auto place = static_cast<std::size_t>(server);
  return "server " + (place < names_.size() ? names_[place] : std::to_string(server));
}

std::string RunRounds::awaited() const {
  if (!group_) return "servers that have yet to be found";
  const comm::Group::Status status = group_->status();
  std::string names;
  for (const comm::Rank server : status.awaited.ranks())
    names += (names.empty() ? "" : ", ") + name_of(server);
  if (!status.why_waiting.empty()) return status.why_waiting;
  return names.empty() ? "other servers of the run" : names;
}

// ---- recovery where a server has died ----

void RunRounds::apply(const RunView& record) {
  if (const auto up = read<comm::Up>(record.view)) view_ = up->view;
  const bool goes_alone = why_alone_.empty() && !record.why_alone.empty();
  why_alone_ = record.why_alone;
  for (const comm::Outcome& each : unconfirmed_)
    if (goes_alone && each.round.channel == channel::iterations)
      unsure_from_ = std::min(unsure_from_, each.round.number);
}

void RunRounds::apply(const RoundContributed& record) {
  if (auto partial = read<comm::Partial>(record.partial))
    note(partial->round, std::move(partial->columns));
}

void RunRounds::apply(const RoundOutcome& record) {
  if (const auto outcome = read<comm::Outcome>(record.outcome)) note(*outcome);
}

void RunRounds::note(const comm::Round& round, comm::Columns columns) {
  open_.emplace_back(round, std::move(columns));
  if (const Listener* const each = listener_of(round); each && each->contributed)
    each->contributed(round);
}

void RunRounds::note(const comm::Outcome& outcome) {
  store(outcome);
  if (const Listener* const each = listener_of(outcome.round); each && each->outcome)
    each->outcome(outcome);
}

void RunRounds::store(const comm::Outcome& outcome) {
  known_ = std::max(known_, outcome.sequence);
  over_[outcome.round.channel] = outcome.round.number;
  std::erase_if(open_, [&outcome](const auto& each) {
    return each.first.channel == outcome.round.channel && each.first.number <= outcome.round.number;
  });
  unconfirmed_.push_back(outcome);
  if (is_reduction(outcome.round)) reductions_[outcome.round] = outcome;
}

// Listeners have snapshots of their own.
void RunRounds::apply(const RunRoundsSnapshot& record) {
  for (const std::string& each : record.outcomes)
    if (const auto outcome = read<comm::Outcome>(each)) store(*outcome);
  apply(record.view);
  restarts_ = record.restarts;
  for (const auto& [channel, number] : record.over) over_[channel] = number;
  known_ = std::max(known_, record.known);
  for (const std::string& each : record.reductions)
    if (const auto outcome = read<comm::Outcome>(each)) reductions_[outcome->round] = *outcome;
  for (const std::string& each : record.open)
    if (auto partial = read<comm::Partial>(each))
      open_.emplace_back(partial->round, std::move(partial->columns));
}

RunRoundsSnapshot RunRounds::snapshot() const {
  comm::Up up;
  up.view = view_;
  RunRoundsSnapshot record{
      restarts_, {comm::bytes_of(up), why_alone_}, {over_.begin(), over_.end()}, known_, {}, {},
      {}};
  for (const comm::Outcome& each : unconfirmed_) record.outcomes.push_back(comm::bytes_of(each));
  for (const auto& [round, outcome] : reductions_)
    record.reductions.push_back(comm::bytes_of(outcome));
  for (const auto& [round, columns] : open_)
    record.open.push_back(record_of(round, columns).partial);
  return record;
}

RoundContributed RunRounds::record_of(const comm::Round& round,
                                      const comm::Columns& columns) const {
  comm::Partial partial;
  partial.round = round;
  partial.by = self();
  partial.of = comm::RankSet(self());
  partial.columns = columns;
  return {comm::bytes_of(partial)};
}

std::optional<comm::Resume> RunRounds::resume() const {
  if (restarts_ == 0) return std::nullopt;
  comm::Resume from;
  from.restarts = restarts_;
  from.view = view_;
  from.why_alone = why_alone_;
  from.known = known_;
  from.outcomes.assign(unconfirmed_.begin(), unconfirmed_.end());
  for (const auto& [channel, number] : over_) from.over.push_back({channel, number});
  from.contributions = open_;
  return from;
}

}  // namespace leat::server
