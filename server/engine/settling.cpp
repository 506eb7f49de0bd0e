// SPDX-License-Identifier: Apache-2.0
#include "server/engine/settling.hpp"

#include <algorithm>

#include "server/engine/run_report.hpp"

namespace leat::server {

Settling::Settling(SessionState& session, Dispatcher& dispatcher)
    : session_(session),
      dispatcher_(dispatcher),
      is_automatic_(session.run.model.architecture.mode == model::EndMode::automatic) {
  if (is_automatic_) session.run.segment.server_state().overlaps.store(0);
}

void Settling::step() {
  if (session_.run.segment.header().synchronous == 0) return;
  publish_settled();
  if (is_automatic_) choose();
}

bool Settling::waits_for_all() const noexcept {
  return is_automatic_ ? !session_.mode.overlaps()
                       : session_.run.model.architecture.mode == model::EndMode::sync;
}

std::int64_t Settling::last_settled() const {
  const std::int64_t ended =
      std::min(session_.iterations.least() - 1, session_.of_run.known_until());
  if (dispatcher_.is_idle()) return ended;
  if (waits_for_all()) return -1;
  return std::min(
      {ended, session_.iterations.oldest() - 1, dispatcher_.under_way().oldest_awaited() - 1});
}

void Settling::publish_settled() {
  std::atomic<std::int64_t>& settled = session_.run.segment.server_state().settled_iteration;
  const std::int64_t last = last_settled();
  if (last <= settled.load(std::memory_order_relaxed)) return;
  settled.store(last, std::memory_order_seq_cst);
  for (ClientLink& client : session_.clients) client.wake_if_waiting();
}

void Settling::choose() {
  if (session_.iterations.least() == INT64_MAX) return;  // all ranks are gone
  const std::int64_t finished =
      std::min({session_.iterations.least() - 1, session_.of_run.known_until(),
                dispatcher_.oldest_unfinished() - 1});
  if (finished <= finished_) return;
  finished_ = finished;
  if (!session_.mode.advance(progress(finished))) return;
  // Where a store has runs="sync" ranks wait in any case, and this is not looked at.
  session_.run.segment.server_state().overlaps.store(session_.mode.overlaps(),
                                                     std::memory_order_relaxed);
  log_mode();
}

ModeChoice::Progress Settling::progress(std::int64_t finished) const {
  ModeChoice::Progress now;
  now.finished = finished;
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i)
    now.entered = std::max(now.entered, session_.iterations.current(i));
  now.now_ns = session_.run.now_ns;
  now.computing = session_.times.computing();
  for (const auto& store : dispatcher_.pipeline().stores())
    now.output += static_cast<double>(store->plugin().work().ns.load()) / 1e9;
  for (const ScriptMetrics& each : dispatcher_.scripts().metrics()) now.output += each.seconds;
  return now;
}

void Settling::log_mode() {
  const std::optional<ModeChoice::Decision>& decision = session_.mode.decision();
  if (!decision || decision->changes == logged_changes_) return;
  logged_changes_ = decision->changes;
  session_.run.log->info("mode=\"auto\": {}", in_words(*decision));
}

}  // namespace leat::server
