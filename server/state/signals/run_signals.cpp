// SPDX-License-Identifier: Apache-2.0
#include "server/state/signals/run_signals.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/base/text.hpp"
#include "server/state/journal/names.hpp"

namespace leat::server {
namespace {

// A rank that signals without end keeps no more than this in order.
constexpr std::size_t kMostInOrder = std::size_t{1} << 16;

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

namespace {

// So many changes are kept for servers that are behind.
constexpr std::size_t kMostSteps = 4096;

}  // namespace

OwnReport::OwnReport(const Run& run, const Clients& clients, const IterationTracker& iterations,
                     std::vector<std::uint32_t> events)
    : run_(run),
      clients_(clients),
      iterations_(iterations),
      events_(std::move(events)),
      counts_(events_.size(), clients),
      requested_(events_.size()) {
  report_.ranks = run.facts.node_ranks;
}

bool OwnReport::has(std::uint32_t event) const noexcept {
  return std::count(events_.begin(), events_.end(), event) > 0;
}

std::size_t OwnReport::place_of(std::uint32_t event) const {
  return static_cast<std::size_t>(std::find(events_.begin(), events_.end(), event) -
                                  events_.begin());
}

std::vector<Tally> OwnReport::tallies() const {
  std::vector<Tally> all;
  for (std::size_t event = 0; event < events_.size(); ++event)
    all.push_back({counts_.least(event), counts_.most(event), requested_[event]});
  return all;
}

std::int64_t OwnReport::signalled(std::uint32_t event) const {
  CallCounts all = counts_;
  for (const PendingSignal& each : pending_.all())
    all.add(place_of(each.event), each.client, each.times);
  return all.most(place_of(event));
}

void OwnReport::count(std::int64_t until) {
  for (const PendingSignal& each : pending_.take(until))
    counts_.add(place_of(each.event), each.client, each.times);
}

void OwnReport::take_step(std::int64_t iteration) {
  count(iteration);
  std::vector<Step>& steps = report_.steps;
  std::vector<Tally> now = tallies();
  if (now != (steps.empty() ? std::vector<Tally>(events_.size()) : steps.back().tallies))
    steps.push_back({iteration, std::move(now)});
}

bool OwnReport::take_ended() {
  const bool ended = iterations_.least() == INT64_MAX;
  std::int64_t until = ended ? report_.until : iterations_.least() - 1;
  if (report_.gave_up || report_.ended || (until <= report_.until && !ended)) return false;
  for (std::uint32_t i = 0; ended && i < clients_.size(); ++i)
    until = std::max(until, iterations_.current(i));
  take_step(report_.until + 1);
  while (pending_.any_until(until)) {
    std::int64_t next = until;
    for (const PendingSignal& each : pending_.all()) next = std::min(next, each.iteration);
    take_step(next);
  }
  report_.until = until;
  report_.ended = ended;
  return true;
}

void OwnReport::forget_before(std::int64_t needed) {
  std::vector<Step>& steps = report_.steps;
  while (steps.size() > 1 && (steps[1].iteration <= needed || steps.size() > kMostSteps)) {
    report_.first = steps[1].iteration;
    steps.erase(steps.begin());
  }
}

std::string OwnReport::line(std::vector<std::string> knows, std::int64_t decided) {
  report_.knows = std::move(knows);
  report_.decided = decided;
  report_.beat = std::max(report_.beat + 1, static_cast<std::uint64_t>(run_.now_ns));
  report_.name = fmt::format("server {} (rank {} and others)", own_node_name(run_.facts),
                             clients_.lowest_rank());
  return line_of(report_);
}

void OwnReport::give_up(const std::string& why) {
  report_.gave_up = true;
  why_given_up_ = why;
}

void OwnReport::apply(const ReportPublished& record) {
  std::optional<Report> report = report_in(record.line, events_.size());
  if (!report) return;
  count(report->until);
  report_ = std::move(*report);
  why_given_up_ = record.why_given_up;
}

void OwnReport::apply(const RunSignalsSnapshot& record) {
  pending_ = PendingSignals(record.pending);
  counts_.assign(record.counts);
  requested_ = record.requested;
  apply(record.report);
}

void OwnReport::store_in(RunSignalsSnapshot* record) const {
  record->pending = pending_.all();
  record->counts = counts_.all();
  record->requested = requested_;
  record->report = published();
}

namespace {

std::vector<std::uint32_t> events_of_run(const model::Model& model) {
  std::vector<std::uint32_t> events;
  for (std::uint32_t i = 0; i < model.events.size(); ++i)
    if (model.events[i].scope == model::Event::Scope::run) events.push_back(i);
  return events;
}

std::optional<Report> report_among(const std::string& server, const std::vector<ServerLine>& all,
                                   std::size_t events) {
  for (const ServerLine& each : all)
    if (each.server == server) return report_in(each.line, events);
  return std::nullopt;
}

std::string sentence_of(const Agreement::Other& silenced, bool is_own) {
  return fmt::format(
      "{}: from iteration {} on events of scope=\"run\" happen without waiting for its ranks",
      is_own ? "this server has reported nothing to the other servers of the run for too long"
             : silenced.name + " has reported nothing for too long",
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
      silence_(run) {
  if (!group) return;
  agreement_.emplace(group->self(), run.facts.ranks, own_.events().size());
  thread_ = std::make_unique<GroupThread>(std::move(group), std::move(wake));
}

void RunSignals::start() {
  if (!is_on()) return;
  thread_->start(run_.executor);
  if (is_lost_) {
    thread_->poll_often(true);
  } else {
    publish();
  }
}

// The last one clears up.
void RunSignals::stop() {
  if (!is_on()) return;
  if (!is_lost_) publish();
  thread_->stop();
  poll();
  if (agreement_->all_are_done()) thread_->group().clear();
}

// ---- what this server reports ----

// The journal has it before anybody else.
void RunSignals::publish() {
  own_.forget_before(agreement_->decided_by_all() + 1);
  published_ns_ = run_.now_ns;
  std::string line =
      own_.line(agreement_->is_complete() ? own_.report().knows : agreement_->others(),
                agreement_->next() - 1);
  journal_.append(own_.published());
  thread_->publish(std::move(line));
}

void RunSignals::give_up(const std::string& why) {
  own_.give_up(why);
  warnings_.push_back(
      fmt::format("from iteration {} on no event of scope=\"run\" happens on this server: {}",
                  agreement_->next(), why));
  thread_->poll_often(false);
  publish();
}

// ---- what the others report ----

// What a server before this one has published of its ranks stays, though what it knew of them is gone.
void RunSignals::poll() {
  std::optional<GroupThread::Update> update = thread_->take_update();
  if (!update) return;
  if (!update->problem.empty() && problem_.empty())
    warnings_.push_back(
        "what is signalled here cannot be reported to the other servers of the run: " +
        update->problem);
  problem_ = std::move(update->problem);
  if (std::exchange(is_lost_, false)) {
    if (std::optional<Report> own =
            report_among(thread_->self(), update->all, own_.events().size()))
      own_.resume(std::move(*own));
    give_up("what was signalled went with the journal of the session");
  }
  const bool was_complete = agreement_->is_complete();
  if (!agreement_->update(update->all)) return;
  if (!was_complete && (agreement_->is_complete() || own_.report().knows != agreement_->others())) {
    silence_.reset();
    publish();
  }
  for (const Agreement::Other& each : agreement_->take_silenced())
    warnings_.push_back(sentence_of(each, each.server == thread_->self()));
}

std::vector<std::int64_t> RunSignals::advance() {
  if (!is_on()) return {};
  poll();
  if (is_lost_ || own_.report().gave_up) return {};
  if (own_.take_ended()) publish();
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
    journal_.append(RunSignalsAgreed{i, *times, agreement_->happened()});
    agreed_[i] = std::move(*times);
    found.push_back(i);
  }
  if (!own_.report().gave_up) thread_->poll_often(waits() || !agreement_->is_complete());
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

std::vector<Signal> RunSignals::agreed(std::int64_t iteration) const {
  std::vector<Signal> signals;
  const auto found = agreed_.find(iteration);
  for (std::size_t i = 0; found != agreed_.end() && i < found->second.size(); ++i) {
    if (found->second[i] > 0)
      signals.push_back({own_.events()[i], -1, static_cast<std::uint32_t>(found->second[i])});
  }
  return signals;
}

std::vector<Signal> RunSignals::take(std::int64_t iteration) {
  std::vector<Signal> signals = agreed(iteration);
  agreed_.erase(iteration);
  return signals;
}

// ---- how long ----

std::string RunSignals::why_stuck() const {
  if (!problem_.empty()) return problem_;
  if (agreement_->is_complete() || agreement_->all_have_published()) return "";
  return fmt::format(
      "of the {} of the run servers of only {} have met in {}; all nodes have to share that folder",
      counted(static_cast<std::uint64_t>(run_.facts.ranks), "rank"), agreement_->ranks_found(),
      thread_->place());
}

// A server whose ranks are slow is waited for, as a slow rank is.
void RunSignals::tick() {
  if (!is_on() || own_.report().gave_up) return;
  if (waits()) {
    const std::string stuck = why_stuck();
    silence_.tick(thread_->polls(), stuck);
    if (silence_.has_expired())
      return give_up(stuck.empty() ? thread_->place() + " does not answer" : stuck);
    for (const std::string& server : silence_.expired(agreement_->awaited()))
      thread_->silence(server);
  } else {
    silence_.tick(thread_->polls(), "");
    silence_.reset();
  }
  if (!is_lost_ && run_.now_ns - published_ns_ > silence_.beat_ns()) publish();
}

std::int64_t RunSignals::next_deadline_ns() const noexcept {
  if (!is_on() || own_.report().gave_up) return INT64_MAX;
  return published_ns_ + silence_.beat_ns();
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

// ---- recovery where a server has died ----

void RunSignals::apply(const ReportPublished& record) {
  if (!is_on()) return;
  own_.apply(record);
  if (own_.report().decided >= agreement_->next())
    agreement_->resume(own_.report().decided + 1, agreement_->happened());
}

void RunSignals::apply(const RunSignalsAgreed& record) {
  if (!is_on()) return;
  agreed_[record.iteration] = record.times;
  agreement_->resume(record.iteration + 1, record.happened);
}

void RunSignals::apply(const RunSignalsSnapshot& record) {
  if (!is_on()) return;
  agreed_ = record.agreed;
  agreement_->resume(record.last_agreed + 1, record.happened);
  own_.apply(record);
}

std::vector<std::int64_t> RunSignals::take_over(std::int64_t done, bool lost) {
  is_lost_ = is_on() && lost;
  forget(done);
  std::vector<std::int64_t> all;
  for (const auto& [iteration, times] : agreed_) all.push_back(iteration);
  return all;
}

RunSignalsSnapshot RunSignals::snapshot() const {
  RunSignalsSnapshot record;
  own_.store_in(&record);
  record.agreed = agreed_;
  record.last_agreed = agreement_->next() - 1;
  record.happened = agreement_->happened();
  return record;
}

}  // namespace leat::server
