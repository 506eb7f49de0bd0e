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

using platform::format_bytes;

// A wait of this length is worth a line; with a short timeout half of that.
constexpr std::int64_t kSayAfterNs = 10'000'000'000;

// What scripts still read stays where it is, whatever becomes of the iteration.
bool frees_memory(const Iteration& iteration) {
  return std::any_of(iteration.pins.begin(), iteration.pins.end(),
                     [](const auto& hold) { return hold.second.use_count() == 1; });
}

}  // namespace

Overflow::Overflow(SessionState& session, Dispatcher& dispatcher)
    : run_(session.run),
      clients_(session.clients),
      memory_(session.memory),
      iterations_(session.iterations),
      events_(session.events),
      dropped_(session.dropped),
      signals_(session.signals),
      of_run_(session.of_run),
      record_(session.record),
      dispatcher_(dispatcher) {}

void Overflow::serve() {
  for (;;) {
    memory_.give();
    // Iterations that are complete but not yet passed on can free memory too.
    dispatcher_.pass_on_complete();
    if (memory_.prefault_for_waiting()) return;
    if (memory_.withdraw_offers()) continue;
    if (make_room()) continue;
    const std::optional<LeaseRequest> hopeless =
        memory_.leases().take_hopeless(dispatcher_.oldest_unfinished());
    if (!hopeless) return;
    give_up(*hopeless);
  }
}

void Overflow::request(const LeaseRequest& request) {
  if (!memory_.leases().request(request))
    memory_.refuse(request, shm::RefusalReason::hopeless, request.iteration);
  serve();
}

// True when something has changed, so that requests are to be looked at once more.
bool Overflow::make_room() {
  const LeaseRequest* const request = memory_.requests().first_unmet();
  if (!request) return false;
  switch (run_.model.architecture.overflow_policy) {
    case model::OverflowPolicy::wait:
      return false;
    case model::OverflowPolicy::drop_iteration:
      return drop_waiting(*request);
    case model::OverflowPolicy::spill:
      dispatcher_.spiller().make_room();
      return false;
    case model::OverflowPolicy::error:
      refuse_at_once(memory_.requests().take_first());
      return true;
  }
  return false;
}

bool Overflow::drops() const noexcept {
  return run_.model.architecture.overflow_policy == model::OverflowPolicy::drop_iteration;
}

// Nothing can ever free memory for it.
void Overflow::give_up(const LeaseRequest& hopeless) {
  if (!drops()) return memory_.refuse(hopeless, shm::RefusalReason::hopeless, hopeless.iteration);
  // It is off the line: it is answered here, also when its iteration is dropped already.
  drop_open(hopeless.iteration, fmt::format("it alone is larger than the buffer of {}",
                                            format_bytes(run_.segment.header().data_bytes)));
  memory_.answer_dropped(hopeless);
}

void Overflow::refuse_at_once(const LeaseRequest& request) {
  using shm::RefusalReason;
  const std::vector<std::uint32_t> behind = memory_.leases().behind(request.iteration);
  if (const std::optional<std::int64_t> first = dispatcher_.pipeline().queue().first_number()) {
    memory_.refuse(request, RefusalReason::stores, *first);
  } else if (iterations_.oldest() < iterations_.least()) {
    memory_.refuse(request, RefusalReason::stores, iterations_.oldest());
  } else if (dispatcher_.anything_held()) {
    memory_.refuse(request, RefusalReason::scripts, dispatcher_.under_way().oldest_held());
  } else if (!behind.empty()) {
    refused_for_absent_ = refused_for_absent_ || is_expected_before(request.iteration);
    memory_.refuse(request, RefusalReason::ranks, iterations_.current(behind[0]));
  } else {
    memory_.refuse(request, RefusalReason::hopeless, request.iteration);
  }
}

bool Overflow::is_expected_before(std::int64_t iteration) const {
  const std::vector<std::uint32_t> behind = memory_.leases().behind(iteration);
  return std::any_of(behind.begin(), behind.end(),
                     [this](std::uint32_t i) { return clients_.is_expected(i); });
}

bool Overflow::drop_waiting(const LeaseRequest& request) {
  // What is written once in a run is needed to read all of it.
  const auto is_constant = [this](const Block& block) {
    return !run_.model.variables[block.variable].time_varying;
  };
  std::optional<Iteration> oldest = dispatcher_.take_oldest([&](const Iteration& each) {
    return frees_memory(each) && std::none_of(each.blocks.begin(), each.blocks.end(), is_constant);
  });
  if (!oldest) return drop_undecided(request, is_constant);
  record_dropped(
      oldest->number,
      fmt::format(
          "still queued for output when rank {} ran out of buffer (it needed {} in iteration {})",
          clients_[request.client].rank(), format_bytes(request.bytes), request.iteration));
  oldest.reset();  // its holds end
  dispatcher_.take_returned_blocks();
  return true;
}

// Complete, and of which other servers have yet to say what happens in it.
bool Overflow::drop_undecided(const LeaseRequest& request,
                              const std::function<bool(const Block&)>& is_constant) {
  const std::int64_t oldest = iterations_.oldest();
  if (oldest >= iterations_.least() || iterations_.any(oldest, is_constant)) return false;
  drop_open(oldest, fmt::format("still waiting for other servers when rank {} ran out of buffer "
                                "(it needed {} in iteration {})",
                                clients_[request.client].rank(), format_bytes(request.bytes),
                                request.iteration));
  return true;
}

void Overflow::dropped_by_client(std::uint32_t client, std::int64_t iteration) {
  if (!drops())
    return clients_.complain(client, "dropped its iteration, which the XML does not allow");
  // A thread of the client may have ended the iteration meanwhile.
  if (iteration != iterations_.current(client)) return;
  drop_open(iteration, fmt::format("rank {} waited for buffer space for the whole timeout",
                                   clients_[client].rank()));
}

void Overflow::drop_open(std::int64_t iteration, const std::string& why) {
  const std::optional<std::vector<Block>> blocks = iterations_.drop(iteration);
  if (!blocks) return;
  record_dropped(iteration, why);
  signals_.iteration_dropped(iteration);
  for (const Block& block : *blocks) memory_.release(block);
  for (const LeaseRequest& request : memory_.requests().take_unmet_of(iteration))
    memory_.answer_dropped(request);
}

void Overflow::record_dropped(std::int64_t iteration, const std::string& why) {
  dropped_.add(iteration);
  record_.ledger().iteration_dropped(iteration, why);
  events_.add({IterationEvent::Kind::dropped, iteration, {}, why});
  run_.log->info("iteration {} dropped: {}", iteration, why);
  run_.made_progress();
}

void Overflow::log_who_waits() {
  const std::int64_t wait_ns = std::min(kSayAfterNs, run_.timeout_ns() / 2);
  for (const LeaseRequest& request : memory_.requests().take_overdue(run_.now_ns - wait_ns)) {
    run_.log->warn("rank {} is waiting for {} of buffer space: the buffer is full; {}",
                   clients_[request.client].rank(), format_bytes(request.bytes),
                   who_holds_memory(request));
  }
}

std::string Overflow::who_holds_memory(const LeaseRequest& request) const {
  if (std::string script = dispatcher_.scripts().slowest(); !script.empty()) return script;
  if (std::string store = dispatcher_.pipeline().slowest(); !store.empty()) return store;
  if (std::string others = of_run_.awaited(); !others.empty()) return others;
  const std::vector<std::uint32_t> behind = memory_.leases().behind(request.iteration);
  if (behind.empty()) return "all of it is in use by iterations in progress";
  std::string ranks;
  for (std::size_t i = 0; i < behind.size() && i < kMostNamed; ++i) {
    const bool comes = clients_.is_expected(behind[i]);
    ranks += (i ? ", " : "") + clients_.name_of(behind[i]) + (comes ? " (not connected yet)" : "");
  }
  return fmt::format("iteration {} has not been ended by {}{}", iterations_.current(behind[0]),
                     ranks, behind.size() > kMostNamed ? ", ..." : "");
}

}  // namespace leat::server
