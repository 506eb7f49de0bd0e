// SPDX-License-Identifier: Apache-2.0
#include "server/engine/absence.hpp"

#include <algorithm>
#include <utility>

namespace leat::server {
namespace {

using Phase = ClientLink::Phase;

// A process may take that long to start on a busy machine, whatever the timeout is.
constexpr std::int64_t kLeastNs = 2'000'000'000;
// Time between two looks counts up to here: there may be none for long.
constexpr std::int64_t kMostBetweenNs = 1'000'000'000;

}  // namespace

Absence::Absence(SessionState& session, Dispatcher& dispatcher, Overflow& overflow,
                 Attachment& attachment, Placing& placing)
    : run_(session.run),
      clients_(session.clients),
      iterations_(session.iterations),
      memory_(session.memory),
      dispatcher_(dispatcher),
      overflow_(overflow),
      attachment_(attachment),
      placing_(placing) {}

bool Absence::any_expected() const noexcept {
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    if (clients_.is_expected(i)) return true;
  }
  return clients_.any_other_expected();
}

// Nobody else is left; or a rank waits for memory that nothing else will free.
bool Absence::hurts() const {
  const bool anybody = std::any_of(clients_.begin(), clients_.end(), [](const ClientLink& c) {
    return c.phase() == Phase::attached || (c.phase() == Phase::absent && c.lives());
  });
  // Ranks of the same job come when they have prepared what they compute.
  if (!anybody && run_.facts.ranks_are_sure && clients_.none_has_come()) return false;
  if (!anybody || overflow_.refused_for_absent() || ends_are_waited_for()) return true;
  const LeaseRequest* const unmet = memory_.requests().first_unmet();
  return unmet && !dispatcher_.anything_held() && !dispatcher_.pipeline().queue().first_number() &&
         overflow_.is_expected_before(unmet->iteration);
}

// A rank that has ended an iteration waits until all have, those too that have yet to come.
bool Absence::ends_are_waited_for() const noexcept {
  const shm::ServerState& words = run_.segment.server_state();
  const auto waits = static_cast<shm::Synchronous>(run_.segment.header().synchronous);
  if (waits == shm::Synchronous::no) return false;
  if (waits == shm::Synchronous::unless_overlaps && words.overlaps.load() != 0) return false;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i].phase() == Phase::attached && iterations_.current(i) > 0) return true;
  }
  return false;
}

// Less than the timeout, so that who waits gets its memory.
std::int64_t Absence::limit_ns() const noexcept {
  return std::max(kLeastNs, run_.timeout_ns() / 4 * 3);
}

void Absence::look() {
  if (!any_expected()) return;
  const std::int64_t before = std::exchange(seen_ns_, hurts() ? run_.now_ns : 0);
  if (seen_ns_ == 0) return;
  if (before != 0) hurt_ns_ += std::min(run_.now_ns - before, kMostBetweenNs);
  // Whoever waits for the end of the run sees that it comes.
  if (hurt_ns_ < limit_ns()) return run_.made_progress();
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    if (clients_.is_expected(i)) attachment_.never_came(i);
  }
  attachment_.others_never_came();
  placing_.place_when_known();
  run_.made_progress();
  overflow_.serve();
}

}  // namespace leat::server
