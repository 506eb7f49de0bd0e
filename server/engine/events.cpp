// SPDX-License-Identifier: Apache-2.0
#include "server/engine/events.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "lib/shm/handshake.hpp"
#include "server/engine/published_by_ranks.hpp"

namespace leat::server {
namespace {

using Phase = ClientLink::Phase;
using shm::EventKind;

// After so many events of one client the others get their turn.
constexpr int kBatch = 256;

bool any_reduces(const model::Model& model) {
  return std::any_of(
      model.variables.begin(), model.variables.end(),
      [](const model::Variable& each) { return each.derived && each.derived->reduction; });
}

}  // namespace

Events::Events(SessionState& session, Dispatcher& dispatcher, Overflow& overflow,
               Attachment& attachment, Beginning& beginning)
    : session_(session),
      dispatcher_(dispatcher),
      overflow_(overflow),
      attachment_(attachment),
      beginning_(beginning),
      reduces_over_run_(!session.run.facts.has_all_ranks() && any_reduces(session.run.model)) {}

bool Events::take_all() {
  bool any = false;
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i) {
    if (session_.clients[i].phase() == Phase::attached) any |= take(i, kBatch);
  }
  if (any) session_.run.made_progress();
  return any;
}

// All that it had pushed: no more than its ring holds, should it go on writing although its
// connection is closed.
void Events::hung_up(std::uint32_t index) {
  take_rest(index, Phase::dead);
  session_.clients[index].disconnect();
}

// It may finalize, or turn out to be broken, by what is taken.
void Events::take_rest(std::uint32_t index, Phase then) {
  ClientLink& client = session_.clients[index];
  take(index, static_cast<int>(session_.run.segment.header().event_slots));
  if (client.is_gone()) return;
  attachment_.left(index, then);
  client.save(session_.iterations.current(index));
}

// What it has handed over since it was cut off. Its slots stay as they are: it counts them too, and
// those that it adds when this server has gone.
void Events::count_late(std::uint32_t index) {
  ClientLink& client = session_.clients[index];
  shm::Event event;
  for (std::uint32_t i = session_.run.segment.header().event_slots; i > 0 && client.pop(event);
       --i) {
    const auto kind = static_cast<EventKind>(event.kind);
    if (kind == EventKind::lost) on_lost(index, event);
    if (kind != EventKind::block && kind != EventKind::products) continue;
    const std::uint64_t head = std::min<std::uint64_t>(event.bytes, sizeof(shm::BlockHeader));
    session_.record.ledger().write_failed(
        client.rank(), kind == EventKind::block ? event.subject : Ledger::kUntold, event.iteration,
        shm::drain_in_words(session_.run.segment.server_state()), event.bytes - head);
  }
  attachment_.count_untold(index);
}

bool Events::take(std::uint32_t index, int most) {
  ClientLink& client = session_.clients[index];
  shm::Event event;
  int taken = 0;
  while (client.phase() == Phase::attached && taken < most && client.pop(event)) {
    handle(index, event);
    client.save(session_.iterations.current(index));
    ++taken;
  }
  if (taken > 0) client.wake_if_waiting();
  if (client.is_broken() && !client.is_gone()) {
    session_.run.log->error(
        "rank {}: the counters of its event ring are corrupt; the rank is treated as dead",
        client.rank());
    client.disconnect();
    attachment_.left(index, Phase::dead);
  }
  return taken > 0;
}

void Events::handle(std::uint32_t index, const shm::Event& event) {
  if (session_.ranks_traced)
    session_.ranks_traced->said(index, session_.clients[index].rank(), event, session_.run.now_ns);
  switch (static_cast<EventKind>(event.kind)) {
    case EventKind::block:
      return on_block(index, event);
    case EventKind::end_iteration:
      return on_end_iteration(index, event);
    case EventKind::lease_request:
      return on_lease_request(index, event);
    case EventKind::seal:
      session_.memory.sealed(index, event);
      return overflow_.serve();
    case EventKind::set_integer:
      return on_value(index, event.subject, static_cast<std::int64_t>(event.token));
    case EventKind::set_real:
      return on_value(index, event.subject, std::bit_cast<double>(event.token));
    case EventKind::set_text:
      return on_text(index, event);
    case EventKind::lost:
      return on_lost(index, event);
    case EventKind::finalize:
      return attachment_.left(index, Phase::finalized);
    case EventKind::drop:
      overflow_.dropped_by_client(index, event.iteration);
      return overflow_.serve();
    case EventKind::forgo:
      return on_forgo(index, event);
    case EventKind::signal:
      return on_signal(index, event);
    case EventKind::products:
      return on_products(index, event);
    case EventKind::span:
      return;  // is for the trace alone
    case EventKind::start_at:
      return on_start_at(index, event);
  }
  session_.clients.complain(index, fmt::format("sent an event of unknown kind {}", event.kind));
}

void Events::on_end_iteration(std::uint32_t index, const shm::Event& event) {
  const std::int64_t iteration = event.iteration;
  if (iteration < 0 || iteration >= shm::kMostIterations) {
    return session_.clients.complain(
        index, fmt::format("sent the end of iteration {}, which cannot be", iteration));
  }
  beginning_.of(index, iteration);
  session_.times.ended(index, event.at_ns, event.inside_ns,
                       iteration + 1 - session_.iterations.current(index));
  // Each server takes part in each iteration, also where nobody on its node writes.
  if (reduces_over_run_ && iteration >= session_.iterations.current(index))
    session_.iterations.touch(iteration);
  session_.of_run.ended(session_.iterations.current(index), iteration);
  beginning_.look_at_gaps();
  end_all_before(index, iteration + 1);
  overflow_.serve();
}

void Events::on_start_at(std::uint32_t index, const shm::Event& event) {
  if (!session_.iterations.first_of(index)) {
    if (beginning_.said(index, event.iteration)) return overflow_.serve();
  } else if (event.iteration >= session_.iterations.current(index) &&
             event.iteration < shm::kMostIterations) {
    if (event.iteration > session_.iterations.current(index))
      beginning_.again(index, event.iteration);
    return overflow_.serve();
  }
  session_.clients.complain(
      index,
      fmt::format("said that it begins with iteration {}, which cannot be", event.iteration));
}

// The client is in `iteration`, and has ended all before it. That it was there already is no error:
// a thread may end an iteration while another one does.
void Events::end_all_before(std::uint32_t index, std::int64_t iteration) {
  if (iteration <= session_.iterations.current(index)) return;
  if (index == 0) session_.parameters.iteration_ended(iteration - 1);
  session_.iterations.ended(index, iteration - 1);
  session_.memory.iteration_ended(index, iteration - 1);
}

// What does not vary in time: its client may yet say with which iteration it begins, and this is of that one then.
bool Events::may_come_before_first(std::uint32_t index, const shm::Event& event) const {
  const auto& variables = session_.run.model.variables;
  return !session_.iterations.first_of(index) && event.iteration == 0 &&
         event.subject < variables.size() && !variables[event.subject].time_varying;
}

// Sets `*error` when the block is of an iteration that it cannot be of.
bool Events::enters(std::uint32_t index, std::int64_t iteration, std::string* error) {
  const std::int64_t current = session_.iterations.current(index);
  if (iteration >= current && iteration < shm::kMostIterations) {
    beginning_.of(index, iteration);
    end_all_before(index, iteration);
    return true;
  }
  *error = fmt::format("it is of iteration {}, and its rank is in {}", iteration, current);
  return false;
}

void Events::on_block(std::uint32_t index, const shm::Event& event) {
  const std::uint64_t lease =
      event.offset % shm::kCacheLine == 0
          ? session_.memory.regions().region_of(index, event.offset, event.bytes)
          : 0;
  std::string error = "it does not lie in memory leased to this rank";
  std::optional<Block> block;
  if (lease != 0) block = read(index, event, &error);
  // With an event that jumps iterations an offer may have been withdrawn, and the lease with it.
  const bool is_leased =
      lease != 0 && session_.memory.regions().region_of(index, event.offset, event.bytes) == lease;
  if (is_leased) session_.memory.block_came(index, lease, event.bytes);
  if (!block || !is_leased) {
    if (is_leased) session_.memory.regions().block_released(index, lease);
    return refuse_block(index, event, error);
  }
  block->lease = lease;
  if (session_.events.is_watched() && session_.iterations.first_of(index) &&
      !session_.iterations.holds(event.iteration) &&
      !session_.iterations.is_dropped(event.iteration))
    session_.events.add({IterationEvent::Kind::open, event.iteration});
  if (const std::optional<Block> replaced = session_.iterations.add(*block))
    session_.memory.release(*replaced);
}

std::optional<Block> Events::read(std::uint32_t index, const shm::Event& event,
                                  std::string* error) {
  if (event.bytes < sizeof(shm::BlockHeader)) return {};
  if (!may_come_before_first(index, event) && !enters(index, event.iteration, error)) return {};
  return session_.clients[index].blocks().read(event, session_.clients[index].rank(), error);
}

void Events::refuse_block(std::uint32_t index, const shm::Event& event, const std::string& error) {
  const auto& variables = session_.run.model.variables;
  const std::string name = event.subject < variables.size() ? variables[event.subject].name
                                                            : "#" + std::to_string(event.subject);
  session_.clients.complain(
      index, fmt::format("a block of \"{}\" is not valid and is not stored: {}", name, error));
  session_.record.ledger().write_failed(session_.clients[index].rank(), event.subject,
                                        session_.iterations.current(index), error);
}

void Events::on_forgo(std::uint32_t index, const shm::Event& event) {
  const std::uint64_t lease = session_.memory.regions().region_of(index, event.offset, event.bytes);
  if (lease == 0) return;
  session_.memory.leases().block_came(index, lease, event.bytes);
  session_.memory.regions().block_released(index, lease);
  overflow_.serve();
}

void Events::on_lease_request(std::uint32_t index, const shm::Event& event) {
  if (session_.run.facts.drained) return;  // by one that is dead
  overflow_.request({index, event.flags, session_.iterations.current(index), event.bytes,
                     event.token, session_.run.now_ns});
}

void Events::on_text(std::uint32_t index, const shm::Event& event) {
  const std::uint64_t lease = session_.memory.regions().region_of(index, event.offset, event.bytes);
  if (lease == 0) return;
  constexpr std::uint64_t kHead = sizeof(shm::BlockHeader);  // ahead of the text, as of any block
  if (event.bytes >= kHead) {
    on_value(index, event.subject,
             std::string(session_.run.segment.at<char>(event.offset + kHead), event.bytes - kHead));
  }
  session_.memory.leases().block_came(index, lease, event.bytes);
  session_.memory.regions().block_released(index, lease);
}

void Events::on_value(std::uint32_t index, std::uint32_t parameter, ParameterValue value) {
  session_.parameters.set(index, session_.iterations.current(index), parameter, std::move(value));
}

void Events::on_signal(std::uint32_t index, const shm::Event& event) {
  std::string error = "the XML has no such event";
  if (event.subject < session_.run.model.events.size() && enters(index, event.iteration, &error))
    return session_.signals.receive(index, event.subject, event.iteration);
  session_.clients.complain(index, fmt::format("signalled event {}: {}", event.subject, error));
}

// They lie in a region for them alone: what this server has not passed on when it dies, the next one finds.
void Events::on_products(std::uint32_t index, const shm::Event& event) {
  Block block;
  block.client = index;
  block.lease = event.offset % shm::kCacheLine == 0
                    ? session_.memory.regions().region_of(index, event.offset, event.bytes)
                    : 0;
  std::string error = "they do not lie in memory leased to this rank";
  std::optional<Publication> publication;
  if (block.lease != 0 && session_.memory.regions().bytes_of_own(index, block.lease) != 0) {
    session_.memory.block_came(index, block.lease, event.bytes);
    publication = published_by_rank(session_.run.segment, event, &error);
    if (!publication) session_.memory.release(block);
  }
  if (publication) {
    // What a rank makes itself comes in the iteration that it is in.
    std::string passed;
    const bool is_own = is_undeclared(*publication);
    if (is_own && publication->iteration == event.iteration)
      (void)enters(index, event.iteration, &passed);
    if (is_own && session_.iterations.is_dropped(publication->iteration))
      return session_.memory.release(block);
    // A staging node publishes what comes behind an iteration, and ends that at last: none of it waits for its own rank.
    const std::int64_t current = session_.iterations.current(index);
    const bool waits = publication->iteration < current + (is_own ? 1 : 0);
    return dispatcher_.publish(std::move(*publication), block, waits);
  }
  session_.clients.complain(index, fmt::format("products are not valid, and are lost: {}", error));
  session_.record.ledger().write_failed(session_.clients[index].rank(), Ledger::kUntold,
                                        session_.iterations.current(index), error);
}

void Events::on_lost(std::uint32_t index, const shm::Event& event) {
  const auto status = static_cast<Status>(static_cast<std::int32_t>(event.token));
  std::string why = attachment_.why(index, static_cast<std::uint32_t>(event.token >> 32));
  if (why.empty()) why = status_meaning(status);
  const std::uint32_t writes = std::max(1u, event.block);
  session_.clients[index].count_failed(writes);
  const bool is_untold = event.subject == shm::kUntoldVariable;
  session_.record.ledger().write_failed(session_.clients[index].rank(),
                                        is_untold ? Ledger::kUntold : event.subject,
                                        event.iteration, why, event.bytes, writes);
}

}  // namespace leat::server
