// SPDX-License-Identifier: Apache-2.0
#include "server/session/patience.hpp"

#include <algorithm>
#include <utility>

namespace leat::server {
namespace {

// A server on a busy machine may be late by so much, whatever the timeout is.
constexpr std::int64_t kLeastPatienceNs = 2'000'000'000;
// Time between two ticks counts up to here: this server may have been stopped.
constexpr std::int64_t kMostOfTickNs = 1'000'000'000;
// Before others lose their patience, a server that lives has said so this often.
constexpr std::int64_t kBeats = 8;

}  // namespace

// Less than the timeout, so that ranks which wait for memory get it.
std::int64_t Patience::limit_ns() const noexcept {
  return std::max(kLeastPatienceNs, run_.timeout_ns() / 4 * 3);
}

std::int64_t Patience::beat_ns() const noexcept { return limit_ns() / kBeats; }

void Patience::tick(std::uint64_t looks, const std::string& stuck) {
  const std::int64_t before = std::exchange(ticked_ns_, run_.now_ns);
  const std::int64_t since = before == 0 ? 0 : std::min(run_.now_ns - before, kMostOfTickNs);
  if (std::exchange(has_looked_, std::exchange(looks_, looks) != looks)) since_look_ns_ = 0;
  since_look_ns_ += since;
  stuck_ns_ = stuck.empty() && has_looked_ ? 0 : stuck_ns_ + since;
}

std::vector<std::string> Patience::silent(const std::vector<Agreement::Other>& awaited) {
  std::map<std::string, Silence> silences;
  std::vector<std::string> silent;
  for (const Agreement::Other& each : awaited) {
    Silence& silence = silences[each.server] = silences_[each.server];
    if (silence.beat != each.beat) silence = {each.beat, 0};
    if (has_looked_) silence.ns += since_look_ns_;
    if (silence.ns <= limit_ns()) continue;
    silent.push_back(each.server);
    silence.ns = 0;
  }
  silences_ = std::move(silences);
  return silent;
}

}  // namespace leat::server
