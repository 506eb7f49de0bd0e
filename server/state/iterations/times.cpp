// SPDX-License-Identifier: Apache-2.0
#include "server/state/iterations/times.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

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

}  // namespace leat::server
