// SPDX-License-Identifier: Apache-2.0
#include "server/state/trace/rank_tracks.hpp"

#include <algorithm>
#include <utility>

namespace leat::server {
namespace {

// Between calls of one iteration the simulation copies pointers and counts; what takes longer is its own work.
constexpr std::int64_t kComputeNs = 10'000;
// Waits of one call, and of those before it that came to nothing.
constexpr std::size_t kMostWaits = 64;
// A turn of the server takes no longer: what has come in it may be from after its begin.
constexpr std::int64_t kAheadNs = 1'000'000'000;

const char* title_of_span(shm::SpanKind kind) noexcept {
  switch (kind) {
    case shm::SpanKind::buffer:
      return "wait: buffer space";
    case shm::SpanKind::ring:
      return "wait: event ring";
    case shm::SpanKind::settled:
      return "wait: iteration stored";
    case shm::SpanKind::end_iteration:
      return "leat_end_iteration";
    case shm::SpanKind::idle:
      return "idle";
  }
  return nullptr;  // no client of ours says so
}

}  // namespace

RankTracks::RankTracks(Trace& trace, const model::Model& model, std::uint32_t clients, bool goes_on)
    : trace_(trace), goes_on_(goes_on), stores_(model.stores.size()), ranks_(clients) {
  for (const model::Variable& each : model.variables) writes_.push_back("leat_write " + each.name);
}

RankTracks::Rank& RankTracks::rank_of(std::uint32_t client, std::int32_t number) {
  Rank& rank = ranks_[client];
  if (rank.track != 0) return rank;
  rank.number = std::max(0, number);
  rank.track = trace_.track("rank " + std::to_string(rank.number), rank.number);
  return rank;
}

// After those before. Calls that threads make at the same time are drawn one behind the other.
RankTracks::Span RankTracks::in_time(const Rank& rank, std::int64_t ended_ns,
                                     std::uint64_t took_ns) const noexcept {
  const std::int64_t end =
      std::clamp(ended_ns, rank.until_ns, std::max(now_ns_ + kAheadNs, rank.until_ns));
  const auto most = static_cast<std::uint64_t>(end - rank.until_ns);
  return {end - static_cast<std::int64_t>(std::min(took_ns, most)), end};
}

// What a server before this one has left open ends here; that nothing was is no harm.
void RankTracks::enter(Rank& rank, std::int64_t iteration, std::int64_t at_ns) {
  if (rank.is_ending) draw_end(rank, {rank.until_ns, rank.until_ns});
  if (rank.in_iteration && rank.iteration != iteration) leave(rank, rank.until_ns);
  if (rank.in_iteration) return;
  const bool is_first = rank.until_ns == 0;
  if (is_first) rank.until_ns = at_ns;
  if (is_first && goes_on_) trace_.end(rank.track, at_ns);
  rank.iteration = iteration;
  rank.in_iteration = true;
  trace_.begin(rank.track, rank.until_ns, name_of_iteration(iteration), iteration);
}

void RankTracks::leave(Rank& rank, std::int64_t at_ns) {
  rank.until_ns = std::max(rank.until_ns, at_ns);
  if (std::exchange(rank.in_iteration, false)) trace_.end(rank.track, rank.until_ns);
}

void RankTracks::compute_until(Rank& rank, std::int64_t at_ns) {
  if (at_ns - rank.until_ns >= kComputeNs)
    trace_.add(rank.track, {rank.until_ns, at_ns, "compute", true});
  rank.until_ns = std::max(rank.until_ns, at_ns);
}

// Waits of calls that came to nothing stand before it, those of its own within it.
void RankTracks::draw(Rank& rank, const Trace::Slice& call) {
  std::vector<Span> own;
  for (const Span& wait : std::exchange(rank.waits, {})) {
    if (wait.ended_ns > call.begun_ns) {
      own.push_back(wait);
      continue;
    }
    compute_until(rank, wait.begun_ns);
    trace_.add(rank.track,
               {rank.until_ns, std::max(rank.until_ns, wait.ended_ns), wait.name, true});
    rank.until_ns = std::max(rank.until_ns, wait.ended_ns);
  }
  compute_until(rank, call.begun_ns);
  std::vector<Trace::Slice> within;
  for (const Span& wait : own) {
    const std::int64_t begun_ns = std::clamp(wait.begun_ns, rank.until_ns, call.ended_ns);
    rank.until_ns = std::clamp(wait.ended_ns, begun_ns, call.ended_ns);
    within.push_back({begun_ns, rank.until_ns, wait.name, true});
  }
  trace_.add(rank.track, call, within);
  rank.until_ns = call.ended_ns;
}

void RankTracks::came(std::uint32_t client, std::int32_t number, std::int64_t now_ns) {
  if (!goes_on_) ranks_[client].until_ns = std::max(ranks_[client].until_ns, now_ns);
  rank_of(client, number);
}

void RankTracks::said(std::uint32_t client, std::int32_t number, const shm::Event& event,
                      std::int64_t now_ns) {
  now_ns_ = now_ns;
  Rank& rank = rank_of(client, number);
  switch (static_cast<shm::EventKind>(event.kind)) {
    case shm::EventKind::lost:
      return trace_.moment(rank.track, now_ns, "write lost", event.iteration);
    case shm::EventKind::block:
      if (event.at_ns > 0) wrote(rank, event);
      return;
    case shm::EventKind::end_iteration:
      if (event.at_ns > 0) end_came(rank, event);
      return;
    case shm::EventKind::span:
      if (event.at_ns > 0) span_came(rank, event);
      return;
    default:
      return;
  }
}

void RankTracks::wrote(Rank& rank, const shm::Event& event) {
  const Span span = in_time(rank, event.at_ns, event.inside_ns);
  enter(rank, event.iteration, span.begun_ns);
  const std::uint64_t head = std::min<std::uint64_t>(event.bytes, sizeof(shm::BlockHeader));
  draw(rank, {.begun_ns = span.begun_ns,
              .ended_ns = span.ended_ns,
              .name = event.subject < writes_.size() ? writes_[event.subject] : "leat_write",
              .is_frequent = true,
              .iteration = event.iteration,
              .bytes = static_cast<std::int64_t>(event.bytes - head)});
}

// How long the call took, says a span that comes next; stores may begin before that.
void RankTracks::end_came(Rank& rank, const shm::Event& event) {
  const Span span = in_time(rank, event.at_ns, 0);
  enter(rank, event.iteration, span.ended_ns);
  compute_until(rank, span.ended_ns);
  rank.arrows = trace_.arrows_from(rank.number, event.iteration, stores_);
  rank.is_ending = true;
}

void RankTracks::draw_end(Rank& rank, const Span& span) {
  rank.is_ending = false;
  draw(rank, {.begun_ns = span.begun_ns,
              .ended_ns = span.ended_ns,
              .name = title_of_span(shm::SpanKind::end_iteration),
              .is_frequent = true,
              .iteration = rank.iteration,
              .arrows = std::exchange(rank.arrows, {})});
  leave(rank, span.ended_ns);
}

void RankTracks::span_came(Rank& rank, const shm::Event& event) {
  if (event.block > 0)
    trace_.moment(rank.track, now_ns_, "lost: " + std::to_string(event.block) + " events", -1);
  const auto kind = static_cast<shm::SpanKind>(event.subject);
  Span span = in_time(rank, event.at_ns, event.inside_ns);
  span.name = title_of_span(kind);
  if (!span.name) return;
  if (kind == shm::SpanKind::end_iteration) {
    if (rank.is_ending) draw_end(rank, span);
  } else if (kind == shm::SpanKind::idle) {
    enter(rank, event.iteration, span.begun_ns);
    draw(rank, {.begun_ns = span.begun_ns,
                .ended_ns = span.ended_ns,
                .name = span.name,
                .is_frequent = true});
  } else if (rank.waits.size() < kMostWaits) {
    rank.waits.push_back(span);
  }
}

void RankTracks::gone(std::uint32_t client, std::int32_t number, bool died, std::int64_t now_ns) {
  if (number < 0) return;
  Rank& rank = rank_of(client, number);
  if (rank.is_ending) draw_end(rank, {rank.until_ns, rank.until_ns});
  leave(rank, rank.in_iteration ? now_ns : rank.until_ns);
  if (died) trace_.moment(rank.track, now_ns, "rank died", rank.iteration);
}

}  // namespace leat::server
