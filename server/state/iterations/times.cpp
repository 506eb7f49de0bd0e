// SPDX-License-Identifier: Apache-2.0
#include "server/state/iterations/times.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

namespace leat::server {

void IterationTimes::ended(std::uint32_t client, std::int64_t at_ns, std::uint64_t inside_ns,
                           std::int64_t iterations) {
  if (at_ns == 0 || iterations < 1) return;
  Client& own = clients_[client];
  const double seconds = static_cast<double>(at_ns - own.last_ns) / 1e9;
  const bool is_first = own.last_ns == 0;
  own.last_ns = at_ns;
  if (is_first) {  // what came before it was start and set-up too
    own.first_ns = at_ns;
    return;
  }
  own.inside_ns += inside_ns;
  const double each = seconds / static_cast<double>(iterations);
  for (std::int64_t i = 0; i < std::min<std::int64_t>(iterations, 1000); ++i) {
    ++own.intervals;
    const double off = each - own.mean;
    own.mean += off / static_cast<double>(own.intervals);
    own.squares += off * (each - own.mean);
  }
  own.longest = std::max(own.longest, each);
}

double IterationTimes::computing() const {
  double seconds = 0, ranks = 0;
  for (const Client& own : clients_) {
    if (own.intervals == 0) continue;
    ++ranks;
    seconds +=
        own.mean * static_cast<double>(own.intervals) - static_cast<double>(own.inside_ns) / 1e9;
  }
  return ranks > 0 ? seconds / ranks : 0;
}

IterationTimes::Figures IterationTimes::figures() const {
  Figures all;
  double ranks = 0;
  for (const Client& own : clients_) {
    if (own.intervals == 0) continue;
    const auto intervals = static_cast<double>(own.intervals);
    ++ranks;
    all.intervals = std::max(all.intervals, own.intervals);
    all.seconds += own.mean;
    all.deviation += std::sqrt(own.squares / intervals);
    all.inside += static_cast<double>(own.inside_ns) / 1e9 / intervals;
    all.longest = std::max(all.longest, own.longest);
    all.first_ns = all.first_ns == 0 ? own.first_ns : std::min(all.first_ns, own.first_ns);
  }
  if (ranks == 0) return all;
  for (double* each : {&all.seconds, &all.deviation, &all.inside}) *each /= ranks;
  return all;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IdleUse, found_seconds, phases, left_alone, mispredicted,
                                   used_seconds, pieces, outlasted, late_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StartUse, first, later, deferred, at_once, lag_seconds,
                                   longest_lag_seconds, waited_seconds, used_seconds)

const char* name_of(const ScheduleUse& use) {
  return std::holds_alternative<IdleUse>(use) ? "idle" : "starts";
}

nlohmann::json json_of(const ScheduleUse& use) {
  return std::visit([](const auto& each) { return nlohmann::json(each); }, use);
}

namespace {

// A window has so many iterations, and of short ones as many as take so long.
constexpr std::int64_t kLeastIterations = 4, kMostIterations = 256, kLeastNs = 50'000'000;
// What is within this is alike: less than what runs differ by.
constexpr double kAlike = 0.03;
// Of ways that differ by more, one window each is enough; otherwise so many.
constexpr double kClear = 0.15;
constexpr int kPairs = 2;
// It has changed when it is off by more in so many windows one after the other, and decided anew
// after so many at the earliest; twice as many the next time.
constexpr double kChanged = 0.15;
// And when it takes so much longer than the other way did.
constexpr double kLoss = 0.05;
constexpr int kStrikes = 2, kLeastRest = 8, kMostRest = 256;

bool is_off(double now, double before, double whole) {
  return std::abs(now - before) > kChanged * whole;
}

ModeChoice::Figures between(const ModeChoice::Progress& begin, const ModeChoice::Progress& end) {
  const auto finished = static_cast<double>(end.finished - begin.finished);
  const auto ended = static_cast<double>(std::max<std::int64_t>(1, end.entered - begin.entered));
  return {static_cast<double>(end.now_ns - begin.now_ns) / 1e9 / finished,
          std::max(0.0, end.computing - begin.computing) / ended,
          (end.output - begin.output) / finished};
}

}  // namespace

std::int64_t output_period(const model::Model& model) {
  std::int64_t period = 1;
  for (const model::Store& store : model.stores) {
    period = std::lcm(period, std::min(store.every, kMostIterations));
    if (period > kMostIterations) return kMostIterations;
  }
  return period;
}

ModeChoice::ModeChoice(std::int64_t period)
    : period_(std::clamp<std::int64_t>(period, 1, kMostIterations)), rest_(kLeastRest) {}

bool ModeChoice::advance(const Progress& now) {
  // The first iteration finds memory and files that are new.
  if (!from_) from_ = now.entered + 1;
  if (!window_) {
    if (now.finished >= *from_) window_ = now;
    return false;
  }
  if (!is_whole(now)) return false;
  const Figures seen = between(*window_, now);
  window_ = now;
  return is_trying_ ? weigh(seen, now) : watch(seen, now);
}

bool ModeChoice::is_whole(const Progress& now) const noexcept {
  const std::int64_t iterations = now.finished - window_->finished;
  if (iterations < kLeastIterations) return false;
  if (iterations >= kMostIterations) return true;
  return iterations % period_ == 0 && now.now_ns - window_->now_ns >= kLeastNs;
}

bool ModeChoice::weigh(const Figures& seen, const Progress& now) {
  std::optional<Figures>& best = best_[overlaps_];
  if (!best || seen.whole < best->whole) best = seen;  // disturbances make longer, never shorter
  if (!overlaps_) {
    if (pairs_ == 0 && seen.computing < kAlike * seen.whole) return decide(false, now);
    if (pairs_ == 0 && seen.output < kAlike * seen.whole) return decide(true, now);
    return turn(true, now);
  }
  if (++pairs_ < kPairs && !is_clear()) return turn(false, now);
  return decide(overlap_pays(), now);
}

bool ModeChoice::is_clear() const noexcept {
  const auto [shorter, longer] = std::minmax(best_[0]->whole, best_[1]->whole);
  return longer > (1 + kClear) * shorter;
}

// What has held so far holds on where both are alike.
bool ModeChoice::overlap_pays() const noexcept {
  const double waiting = best_[0]->whole, overlapping = best_[1]->whole;
  if (decision_ && decision_->overlaps) return overlapping * (1 - kAlike) <= waiting;
  return overlapping < waiting * (1 - kAlike);
}

bool ModeChoice::decide(bool overlaps, const Progress& now) {
  if (!decision_ || decision_->overlaps != overlaps) {
    const int changes = decision_ ? decision_->changes + 1 : 0;
    decision_ = {overlaps, now.entered, best_[0], best_[1], changes};
  }
  is_trying_ = false;
  usual_.reset();
  strikes_ = windows_ = 0;
  turn(overlaps, now);
  return true;
}

bool ModeChoice::turn(bool overlaps, const Progress& now) {
  if (overlaps_ == overlaps) return false;
  overlaps_ = overlaps;
  window_.reset();
  from_ = now.entered;
  return true;
}

bool ModeChoice::watch(const Figures& seen, const Progress& now) {
  ++windows_;
  if (!usual_) {
    usual_ = seen;
    return false;
  }
  strikes_ = has_changed(seen) ? strikes_ + 1 : 0;
  if (strikes_ < kStrikes || windows_ < rest_) return false;
  rest_ = std::min(2 * rest_, kMostRest);
  is_trying_ = true;
  best_ = {};
  pairs_ = 0;
  return turn(false, now);
}

bool ModeChoice::has_changed(const Figures& seen) const noexcept {
  const std::optional<Figures>& other = best_[!overlaps_];
  if (other && seen.whole > (1 + kLoss) * other->whole) return true;
  return is_off(seen.whole, usual_->whole, usual_->whole) ||
         is_off(seen.computing, usual_->computing, usual_->whole) ||
         is_off(seen.output, usual_->output, usual_->whole);
}

}  // namespace leat::server
