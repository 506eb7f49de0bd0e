// SPDX-License-Identifier: Apache-2.0
#include "server/state/signals/run_signals.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/text.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

std::vector<std::uint32_t> events_of_run(const model::Model& model) {
  std::vector<std::uint32_t> events;
  for (std::uint32_t i = 0; i < model.events.size(); ++i)
    if (model.events[i].scope == model::Event::Scope::run) events.push_back(i);
  return events;
}

json words_of_happened(const std::vector<Agreement::Happened>& happened) {
  json words = json::array();
  for (const Agreement::Happened& each : happened) words.push_back({each.by_ranks, each.by_order});
  return words;
}

std::vector<Agreement::Happened> happened_in(const json& words) {
  std::vector<Agreement::Happened> happened;
  for (const json& each : words) happened.push_back({each[0], each[1]});
  return happened;
}

std::optional<Report> report_among(const std::string& server, const std::vector<Said>& all,
                                   std::size_t events) {
  for (const Said& each : all)
    if (each.server == server) return report_in(each.line, events);
  return std::nullopt;
}

std::string sentence_of(const Agreement::Other& silenced, bool is_own) {
  return fmt::format(
      "{}: from iteration {} on events of scope=\"run\" happen without waiting for its ranks",
      is_own ? "the other servers of the run have heard nothing of this one for too long"
             : silenced.name + " has said nothing for too long",
      silenced.until + 1);
}

}  // namespace

RunSignals::RunSignals(const Run& run, const Clients& clients, const IterationTracker& iterations,
                       SessionJournal& journal, std::unique_ptr<Group> group,
                       std::function<void()> wake)
    : run_(run),
      journal_(journal),
      own_(run, clients, iterations,
           group ? events_of_run(run.model) : std::vector<std::uint32_t>()),
      patience_(run) {
  if (!group) return;
  agreement_.emplace(group->self(), run.facts.ranks, own_.events().size());
  talk_ = std::make_unique<GroupTalk>(std::move(group), std::move(wake));
}

void RunSignals::start() {
  if (!is_on()) return;
  talk_->start(run_.executor);
  if (is_lost_) {
    talk_->listen(true);
  } else {
    tell();
  }
}

// The last one that speaks clears up.
void RunSignals::stop() {
  if (!is_on()) return;
  if (!is_lost_) tell();
  talk_->stop();
  hear();
  if (agreement_->all_are_done()) talk_->group().clear();
}

// ---- what this server says ----

// The journal has it before anybody else.
void RunSignals::tell() {
  own_.forget_before(agreement_->decided_by_all() + 1);
  told_ns_ = run_.now_ns;
  std::string line =
      own_.line(agreement_->is_complete() ? own_.report().knows : agreement_->others(),
                agreement_->next() - 1);
  journal_.note({{"run_signals", own_.as_told()}});
  talk_->say(std::move(line));
}

void RunSignals::give_up(const std::string& why) {
  own_.give_up(why);
  warnings_.push_back(
      fmt::format("from iteration {} on no event of scope=\"run\" happens on this server: {}",
                  agreement_->next(), why));
  talk_->listen(false);
  tell();
}

// ---- what the others say ----

// What a server before this one has told of its ranks stays, though what it knew of them is gone.
void RunSignals::hear() {
  std::optional<GroupTalk::News> news = talk_->take_news();
  if (!news) return;
  if (!news->problem.empty() && problem_.empty())
    warnings_.push_back("the other servers of the run cannot be told what is signalled here: " +
                        news->problem);
  problem_ = std::move(news->problem);
  if (std::exchange(is_lost_, false)) {
    if (std::optional<Report> own = report_among(talk_->self(), news->all, own_.events().size()))
      own_.go_on_as(std::move(*own));
    give_up("what was signalled went with the journal of the session");
  }
  const bool was_complete = agreement_->is_complete();
  if (!agreement_->hear(news->all)) return;
  if (!was_complete && (agreement_->is_complete() || own_.report().knows != agreement_->others())) {
    patience_.begin_anew();
    tell();
  }
  for (const Agreement::Other& each : agreement_->take_silenced())
    warnings_.push_back(sentence_of(each, each.server == talk_->self()));
}

std::vector<std::int64_t> RunSignals::advance() {
  if (!is_on()) return {};
  hear();
  if (is_lost_ || own_.report().gave_up) return {};
  if (own_.take_ended()) tell();
  std::vector<std::int64_t> found;
  for (std::int64_t i = agreement_->next(); i <= own_.report().until; ++i) {
    if (agreement_->is_left_behind()) {
      give_up("this server was away for too long");
      break;
    }
    std::optional<std::vector<std::int64_t>> times = agreement_->decide();
    if (!times) break;
    run_.made_progress();
    if (std::all_of(times->begin(), times->end(), [](std::int64_t each) { return each == 0; }))
      continue;
    journal_.note({{"run_signals",
                    {{"iteration", i},
                     {"times", *times},
                     {"happened", words_of_happened(agreement_->happened())}}}});
    happening_[i] = std::move(*times);
    found.push_back(i);
  }
  if (!own_.report().gave_up) talk_->listen(waits() || !agreement_->is_complete());
  return found;
}

bool RunSignals::is_settled() const noexcept {
  return !is_on() || own_.report().gave_up ||
         (own_.report().ended && agreement_->is_complete() &&
          agreement_->next() > own_.report().until);
}

bool RunSignals::waits() const noexcept {
  if (!is_on()) return false;
  return is_lost_ ||
         (!is_settled() && (own_.report().ended || agreement_->next() <= own_.report().until));
}

std::int64_t RunSignals::known_until() const noexcept {
  return !is_on() || own_.report().gave_up ? INT64_MAX : agreement_->next() - 1;
}

std::vector<Signal> RunSignals::happening(std::int64_t iteration) const {
  std::vector<Signal> signals;
  const auto found = happening_.find(iteration);
  for (std::size_t i = 0; found != happening_.end() && i < found->second.size(); ++i) {
    if (found->second[i] > 0)
      signals.push_back({own_.events()[i], -1, static_cast<std::uint32_t>(found->second[i])});
  }
  return signals;
}

std::vector<Signal> RunSignals::take(std::int64_t iteration) {
  std::vector<Signal> signals = happening(iteration);
  happening_.erase(iteration);
  return signals;
}

// ---- how long ----

std::string RunSignals::why_stuck() const {
  if (!problem_.empty()) return problem_;
  if (agreement_->is_complete() || agreement_->all_have_spoken()) return "";
  return fmt::format(
      "of the {} of the run servers of only {} have met in {}; all nodes have to share that folder",
      counted(static_cast<std::uint64_t>(run_.facts.ranks), "rank"), agreement_->ranks_found(),
      talk_->place());
}

// A server whose ranks are slow is waited for, as a slow rank is.
void RunSignals::tick() {
  if (!is_on() || own_.report().gave_up) return;
  if (waits()) {
    const std::string stuck = why_stuck();
    patience_.tick(talk_->looks(), stuck);
    if (patience_.is_over())
      return give_up(stuck.empty() ? talk_->place() + " does not answer" : stuck);
    for (const std::string& server : patience_.silent(agreement_->awaited()))
      talk_->silence(server);
  } else {
    patience_.tick(talk_->looks(), "");
    patience_.begin_anew();
  }
  if (!is_lost_ && run_.now_ns - told_ns_ > patience_.beat_ns()) tell();
}

std::int64_t RunSignals::next_deadline_ns() const noexcept {
  if (!is_on() || own_.report().gave_up) return INT64_MAX;
  return told_ns_ + patience_.beat_ns();
}

std::string RunSignals::awaited() const {
  if (!waits()) return "";
  std::vector<std::string> names;
  for (const Agreement::Other& each : agreement_->awaited()) names.push_back(each.name);
  if (!agreement_->is_complete() && names.empty()) names = {"servers that have yet to be found"};
  if (names.empty()) return "";
  return fmt::format("iteration {} waits for {}", agreement_->next(), joined(names, ", "));
}

std::int64_t RunSignals::missing(std::uint32_t event, std::string* why) const {
  const auto& events = own_.events();
  const auto place =
      static_cast<std::size_t>(std::find(events.begin(), events.end(), event) - events.begin());
  if (!own_.report().gave_up) return agreement_->missing(place, why);
  *why = own_.why_given_up();
  return own_.signalled(event) - agreement_->happened()[place].by_ranks;
}

// ---- going on where a server has died ----

void RunSignals::take_entry(const json& entry) {
  if (!is_on()) return;
  if (entry.contains("report")) own_.take_told(entry);
  if (entry.contains("own")) own_.take_words(entry["own"]);
  for (const json& each : entry.value("happening", json::array()))
    happening_[each[0]] = each[1].get<std::vector<std::int64_t>>();
  if (entry.contains("times"))
    happening_[entry["iteration"]] = entry["times"].get<std::vector<std::int64_t>>();
  if (entry.contains("happened"))
    agreement_->resume(entry["iteration"].get<std::int64_t>() + 1, happened_in(entry["happened"]));
  if (own_.report().decided >= agreement_->next())
    agreement_->resume(own_.report().decided + 1, agreement_->happened());
}

std::vector<std::int64_t> RunSignals::take_over(std::int64_t done, bool lost) {
  is_lost_ = is_on() && lost;
  forget(done);
  std::vector<std::int64_t> all;
  for (const auto& [iteration, times] : happening_) all.push_back(iteration);
  return all;
}

json RunSignals::in_words() const {
  json happening = json::array();
  for (const auto& [iteration, times] : happening_) happening.push_back({iteration, times});
  return {{"own", own_.in_words()},
          {"happening", std::move(happening)},
          {"iteration", agreement_->next() - 1},
          {"happened", words_of_happened(agreement_->happened())}};
}

}  // namespace leat::server
