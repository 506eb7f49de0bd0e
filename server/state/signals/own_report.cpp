// SPDX-License-Identifier: Apache-2.0
#include "server/state/signals/own_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

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

}  // namespace leat::server
