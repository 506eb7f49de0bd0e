// SPDX-License-Identifier: Apache-2.0
#include "server/engine/beginning.hpp"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>

namespace leat::server {

void close_before_first(SessionState& session) {
  if (session.iterations.close_before_first()) session.signals.open_next();
  for (const Block& each : session.iterations.take_left_out()) session.memory.release(each);
}

void Beginning::of(std::uint32_t client, std::int64_t iteration) {
  if (!session_.iterations.first_of(client)) begin(client, iteration);
}

bool Beginning::said(std::uint32_t client, std::int64_t iteration) {
  if (session_.iterations.first_of(client) || iteration < 0 || iteration > INT32_MAX) return false;
  is_said_ = true;
  begin(client, iteration);
  return true;
}

// An event that was asked for from outside waits in the first iteration that comes.
void Beginning::begin(std::uint32_t client, std::int64_t iteration) {
  if (is_said_ || iteration > 0) session_.journal.append(RankBegan{client, iteration});
  if (client == 0 && iteration > 0) session_.parameters.iteration_ended(iteration - 1);
  const bool was_open = session_.iterations.holds(iteration);
  session_.iterations.begin_at(client, iteration);
  session_.memory.begin_at(client, iteration);
  if (session_.events.is_watched() && !was_open && session_.iterations.holds(iteration))
    session_.events.add({IterationEvent::Kind::open, iteration});
  close_before_first(session_);
  warn_of_others(client, iteration);
}

void Beginning::again(std::uint32_t client, std::int64_t iteration) {
  if (client == 0) session_.parameters.iteration_ended(iteration - 1);
  session_.iterations.skip_to(client, iteration);
  session_.memory.skip_to(client, iteration);
  look_at_gaps();
}

void Beginning::look_at_gaps() {
  const auto& unlike = session_.iterations.unlike();
  if (!unlike || std::exchange(has_warned_of_gaps_, true)) return;
  const std::string text = fmt::format(
      "{} has left iteration {} out by leat_begin_iteration, and other ranks write in it: "
      "iterations that only some ranks have hold what those write. Call leat_begin_iteration with "
      "the same number on all ranks",
      session_.clients.name_of(unlike->client), unlike->iteration);
  session_.run.log->warn("{}", text);
  session_.record.ledger().incidents().warn("start", Warning::kNoVariable, unlike->iteration, text);
}

// Once: with a thousand ranks it would be said a thousand times.
void Beginning::warn_of_others(std::uint32_t client, std::int64_t iteration) {
  for (std::uint32_t i = 0; is_said_ && !has_warned_ && i < session_.clients.size(); ++i) {
    const std::optional<std::int64_t> other = session_.iterations.first_of(i);
    if (!other || *other == iteration) continue;
    has_warned_ = true;
    const std::string text = fmt::format(
        "{} begins with iteration {}, and {} with iteration {}: iterations that only some ranks "
        "have hold what those write. Call leat_start_at with the same number on all ranks, or "
        "leat_restart_step on all ranks",
        session_.clients.name_of(client), iteration, session_.clients.name_of(i), *other);
    session_.run.log->warn("{}", text);
    session_.record.ledger().incidents().warn("start", Warning::kNoVariable,
                                              std::min(iteration, *other), text);
  }
}

void Beginning::apply(const RankBegan& record) {
  if (record.client >= session_.clients.size()) return;
  is_said_ = true;
  session_.iterations.begin_at(record.client, record.iteration);
}

std::vector<JournalRecord> Beginning::snapshot() const {
  std::vector<JournalRecord> all;
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i)
    if (const std::optional<std::int64_t> first = session_.iterations.first_of(i);
        first && (is_said_ || *first > 0))
      all.emplace_back(RankBegan{i, *first});
  return all;
}

void Beginning::of_resumed(std::uint32_t client) {
  if (!session_.iterations.first_of(client)) session_.iterations.begin_at(client, 0);
}

}  // namespace leat::server
