// SPDX-License-Identifier: Apache-2.0
#include "server/engine/overflow.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "lib/os/memory.hpp"
#include "server/state/run.hpp"

namespace leat::server {
namespace {

// A wait of this length is worth a line; with a short timeout half of that.
constexpr std::int64_t kSayAfterNs = 10'000'000'000;

// What scripts still read stays where it is, whatever becomes of the iteration.
bool frees_memory(const Iteration& iteration) {
  return std::any_of(iteration.pins.begin(), iteration.pins.end(),
                     [](const auto& hold) { return hold.second.use_count() == 1; });
}

}  // namespace

void Overflow::serve() {
  for (;;) {
    session_.memory.give();
    // Iterations that are complete but not yet passed on can free memory too.
    dispatcher_.pass_on_complete();
    if (session_.memory.prefault_for_waiting()) return;
    if (session_.memory.withdraw_offers()) continue;
    if (make_room()) continue;
    const std::optional<LeaseRequest> hopeless =
        session_.memory.leases().take_hopeless(dispatcher_.oldest_unfinished());
    if (!hopeless) return;
    give_up(*hopeless);
  }
}

void Overflow::request(const LeaseRequest& request) {
  if (!session_.memory.leases().request(request))
    session_.memory.refuse(request, shm::RefusalReason::hopeless, request.iteration);
  serve();
}

// True when something has changed, so that requests are to be looked at once more.
bool Overflow::make_room() {
  const LeaseRequest* const request = session_.memory.requests().first_unmet();
  if (!request) return false;
  switch (session_.run.model.architecture.overflow_policy) {
    case model::OverflowPolicy::wait:
      return false;
    case model::OverflowPolicy::drop_iteration:
      return drop_waiting(*request);
    case model::OverflowPolicy::spill:
      dispatcher_.spiller().make_room();
      return false;
    case model::OverflowPolicy::error:
      refuse_at_once(session_.memory.requests().take_first());
      return true;
  }
  return false;
}

bool Overflow::drops() const noexcept {
  return session_.run.model.architecture.overflow_policy == model::OverflowPolicy::drop_iteration;
}

// Nothing can ever free memory for it.
void Overflow::give_up(const LeaseRequest& hopeless) {
  if (!drops())
    return session_.memory.refuse(hopeless, shm::RefusalReason::hopeless, hopeless.iteration);
  // It is off the line: it is answered here, also when its iteration is dropped already.
  drop_open(hopeless.iteration,
            fmt::format("it alone is larger than the buffer of {}",
                        format_bytes(session_.run.segment.header().data_bytes)));
  session_.memory.answer_dropped(hopeless);
}

void Overflow::refuse_at_once(const LeaseRequest& request) {
  using shm::RefusalReason;
  const std::vector<std::uint32_t> behind = session_.memory.leases().behind(request.iteration);
  if (const std::optional<std::int64_t> first = dispatcher_.pipeline().queue().first_number()) {
    session_.memory.refuse(request, RefusalReason::stores, *first);
  } else if (session_.iterations.oldest() < session_.iterations.least()) {
    session_.memory.refuse(request, RefusalReason::stores, session_.iterations.oldest());
  } else if (dispatcher_.anything_read()) {
    session_.memory.refuse(request, RefusalReason::scripts, dispatcher_.under_way().oldest_held());
  } else if (!behind.empty()) {
    refused_for_absent_ = refused_for_absent_ || is_expected_before(request.iteration);
    session_.memory.refuse(request, RefusalReason::ranks, session_.iterations.current(behind[0]));
  } else {
    session_.memory.refuse(request, RefusalReason::hopeless, request.iteration);
  }
}

bool Overflow::is_expected_before(std::int64_t iteration) const {
  const std::vector<std::uint32_t> behind = session_.memory.leases().behind(iteration);
  return std::any_of(behind.begin(), behind.end(),
                     [this](std::uint32_t i) { return session_.clients.is_expected(i); });
}

bool Overflow::drop_waiting(const LeaseRequest& request) {
  // What is written once in a run is needed to read all of it.
  const auto is_constant = [this](const Block& block) {
    return !session_.run.model.variables[block.variable].time_varying;
  };
  if (session_.of_run.drops_together()) return drop_requesting(request, is_constant);
  std::optional<Iteration> oldest = dispatcher_.take_oldest([&](const Iteration& each) {
    return frees_memory(each) && std::none_of(each.blocks.begin(), each.blocks.end(), is_constant);
  });
  if (!oldest) return drop_undecided(request, is_constant);
  record_dropped(
      oldest->number,
      fmt::format(
          "still queued for output when rank {} ran out of buffer (it needed {} in iteration {})",
          session_.clients[request.client].rank(), format_bytes(request.bytes), request.iteration));
  dispatcher_.drop_published(oldest->number);
  oldest.reset();  // its holds end
  dispatcher_.take_returned_blocks();
  return true;
}

// Complete, and of which other servers have yet to say what happens in it.
bool Overflow::drop_undecided(const LeaseRequest& request,
                              const std::function<bool(const Block&)>& is_constant) {
  const std::int64_t oldest = session_.iterations.oldest();
  if (oldest >= session_.iterations.least() || session_.iterations.any(oldest, is_constant))
    return false;
  drop_open(oldest, fmt::format("still waiting for other servers when rank {} ran out of buffer "
                                "(it needed {} in iteration {})",
                                session_.clients[request.client].rank(),
                                format_bytes(request.bytes), request.iteration));
  return true;
}

// What waits is promised to the other servers: the one that has no room is dropped instead, where waiting for
// others' turns would be in vain until they are stored.
bool Overflow::drop_requesting(const LeaseRequest& request,
                               const std::function<bool(const Block&)>& is_constant) {
  const bool any_waits = dispatcher_.pipeline().queue().first_number() ||
                         session_.iterations.oldest() < session_.iterations.least();
  if (!any_waits || session_.iterations.any(request.iteration, is_constant)) return false;
  if (session_.iterations.is_dropped(request.iteration)) {  // by a request before this one
    answer_dropped(request.iteration);
    return true;
  }
  drop_open(
      request.iteration,
      fmt::format("iterations before it were still waiting for output when rank {} ran out of "
                  "buffer (it needed {})",
                  session_.clients[request.client].rank(), format_bytes(request.bytes)));
  return true;
}

void Overflow::dropped_by_client(std::uint32_t client, std::int64_t iteration) {
  if (!drops())
    return session_.clients.complain(client, "dropped its iteration, which the XML does not allow");
  // A thread of the client may have ended the iteration meanwhile.
  if (iteration != session_.iterations.current(client)) return;
  drop_open(iteration, fmt::format("rank {} waited for buffer space for the whole timeout",
                                   session_.clients[client].rank()));
}

void Overflow::drop_open(std::int64_t iteration, const std::string& why) {
  const std::optional<std::vector<Block>> blocks = session_.iterations.drop(iteration);
  if (!blocks) return;
  record_dropped(iteration, why);
  session_.signals.iteration_dropped(iteration);
  for (const Block& block : *blocks) {
    if (!session_.run.model.variables[block.variable].time_varying)
      session_.record.ledger().write_failed(
          block.rank, block.variable, iteration,
          fmt::format("it does not vary in time, and is not written again; iteration {} was "
                      "dropped with it: {}",
                      iteration, why),
          block.bytes);
    session_.memory.release(block);
  }
  dispatcher_.drop_published(iteration);
  answer_dropped(iteration);
}

void Overflow::answer_dropped(std::int64_t iteration) {
  for (const LeaseRequest& request : session_.memory.requests().take_unmet_of(iteration))
    session_.memory.answer_dropped(request);
}

void Overflow::record_dropped(std::int64_t iteration, const std::string& why) {
  session_.dropped.add(iteration);
  // Where all servers drop it none waits for another one.
  if (!session_.of_run.drops_together()) session_.reductions.leave_out_iteration(iteration);
  session_.record.ledger().iteration_dropped(iteration, why);
  session_.events.add({IterationEvent::Kind::dropped, iteration, {}, why});
  session_.run.log->info("iteration {} dropped: {}", iteration, why);
  session_.run.made_progress();
}

void Overflow::log_who_waits() {
  const std::int64_t wait_ns = std::min(kSayAfterNs, session_.run.timeout_ns() / 2);
  for (const LeaseRequest& request :
       session_.memory.requests().take_overdue(session_.run.now_ns - wait_ns)) {
    session_.run.log->warn("rank {} is waiting for {} of buffer space: the buffer is full; {}",
                           session_.clients[request.client].rank(), format_bytes(request.bytes),
                           who_holds_memory(request));
  }
}

std::string Overflow::who_holds_memory(const LeaseRequest& request) const {
  if (std::string script = dispatcher_.scripts().slowest(); !script.empty()) return script;
  if (std::string store = dispatcher_.pipeline().slowest(); !store.empty()) return store;
  if (std::string others = session_.of_run.awaited(); !others.empty()) return others;
  const std::vector<std::uint32_t> behind = session_.memory.leases().behind(request.iteration);
  if (behind.empty()) return "all of it is in use by iterations in progress";
  std::string ranks;
  for (std::size_t i = 0; i < behind.size() && i < kMostNamed; ++i) {
    const bool comes = session_.clients.is_expected(behind[i]);
    ranks += (i ? ", " : "") + session_.clients.name_of(behind[i]) +
             (comes ? " (not connected yet)" : "");
  }
  return fmt::format("iteration {} has not been ended by {}{}",
                     session_.iterations.current(behind[0]), ranks,
                     behind.size() > kMostNamed ? ", ..." : "");
}

}  // namespace leat::server
