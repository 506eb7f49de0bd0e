// SPDX-License-Identifier: Apache-2.0
// Server: what clients say, and what follows from it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/platform/clock.hpp"
#include "lib/platform/memory.hpp"
#include "server/server.hpp"

namespace leat::server {
namespace {

// After so many events of one client the others get their turn.
constexpr int kBatch = 256;
// A wait of this length is worth a line; with a short timeout half of that.
constexpr std::int64_t kSayAfterNs = 10'000'000'000;
constexpr std::size_t kMostNamed = 8;
// A client whose memory is corrupt must not fill the disk with lines about it.
constexpr int kMostComplaints = 100;

}  // namespace

bool Server::take_all_events() {
  bool any = false;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    const ClientLink::Phase phase = clients_[i].phase();
    if (phase == ClientLink::Phase::attached) any |= take_events(i, kBatch);
  }
  if (any) made_progress();
  return any;
}

// All that it had pushed: no more than its ring holds, should it go on writing although its socket
// is closed.
void Server::take_last_events(std::uint32_t index) {
  take_events(index, static_cast<int>(segment_.header().event_slots));
}

bool Server::take_events(std::uint32_t index, int most) {
  ClientLink& client = clients_[index];
  shm::Event event;
  int taken = 0;
  while (client.phase() == ClientLink::Phase::attached && taken < most && client.pop(event)) {
    handle(index, event);
    client.save(iterations_.current(index));
    ++taken;
  }
  if (taken > 0) client.wake_if_waiting();
  if (client.is_broken() && !client.is_gone()) {
    log_->error("rank {}: the counters of its event ring make no sense; it is taken as dead",
                client.rank());
    client.close_socket();
    client_left(index, ClientLink::Phase::dead);
  }
  return taken > 0;
}

void Server::handle(std::uint32_t index, const shm::Event& event) {
  switch (static_cast<shm::EventKind>(event.kind)) {
    case shm::EventKind::block:
      return on_block(index, event);
    case shm::EventKind::end_iteration:
      if (event.flags & shm::kEndDropped) on_drop(index, event);
      if (index == 0) first_rank_ended(iterations_.current(0));
      iterations_.ended(index);
      leases_.iteration_ended(index);
      return serve_requests();
    case shm::EventKind::lease_request:
      return on_lease_request(index, event);
    case shm::EventKind::seal:
      // One that a server which has died did not read may speak of an earlier lease of that memory.
      if (event.token != lease_table_.id_at(event.offset)) return;
      leases_.seal(index, event.offset, event.bytes);
      return serve_requests();
    case shm::EventKind::set_integer:
      return set_parameter(index, event.subject, static_cast<std::int64_t>(event.token));
    case shm::EventKind::set_real:
      return set_parameter(index, event.subject, std::bit_cast<double>(event.token));
    case shm::EventKind::set_text:
      return on_text(index, event);
    case shm::EventKind::lost:
      return on_lost(index, event);
    case shm::EventKind::finalize:
      return client_left(index, ClientLink::Phase::finalized);
    case shm::EventKind::drop:
      on_drop(index, event);
      return serve_requests();
  }
  complain(index, fmt::format("sent an event of unknown kind {}", event.kind));
}

void Server::complain(std::uint32_t index, const std::string& what) {
  const int count = clients_[index].count_complaint();
  if (count > kMostComplaints) return;
  log_->error("rank {}: {}{}", clients_[index].rank(), what,
              count == kMostComplaints ? "; nothing more is said of what makes no sense" : "");
}

void Server::on_block(std::uint32_t index, const shm::Event& event) {
  const std::uint64_t lease =
      event.offset % shm::kCacheLine == 0 ? leases_.extent_of(index, event.offset, event.bytes) : 0;
  std::string error = "it does not lie in memory leased to this rank";
  std::optional<Block> block;
  if (lease != 0 && event.bytes >= sizeof(shm::BlockHeader)) {
    block = clients_[index].read_block(event, &error);
  }
  if (lease != 0) leases_.block_came(index, lease, event.bytes);
  if (!block) {
    if (lease != 0) leases_.block_released(index, lease);
    const std::string name = event.subject < model_.variables.size()
                                 ? model_.variables[event.subject].name
                                 : "#" + std::to_string(event.subject);
    complain(index,
             fmt::format("a block of \"{}\" makes no sense and is not stored: {}", name, error));
    ledger_.write_failed(clients_[index].rank(), event.subject, iterations_.current(index), error);
    return;
  }
  block->lease = lease;
  if (const std::optional<Block> replaced = iterations_.add(*block)) release(*replaced);
}

void Server::on_lease_request(std::uint32_t index, const shm::Event& event) {
  const LeaseRequest request{index,       event.flags, iterations_.current(index),
                             event.bytes, event.token, platform::now_ns()};
  if (!leases_.request(request)) refuse(request, shm::RefusalReason::hopeless, request.iteration);
  serve_requests();
}

void Server::on_text(std::uint32_t index, const shm::Event& event) {
  const std::uint64_t lease = leases_.extent_of(index, event.offset, event.bytes);
  if (lease == 0) return;
  constexpr std::uint64_t kHead = sizeof(shm::BlockHeader);  // ahead of the text, as of any block
  if (event.bytes >= kHead) {
    set_parameter(index, event.subject,
                  std::string(segment_.at<char>(event.offset + kHead), event.bytes - kHead));
  }
  leases_.block_came(index, lease, event.bytes);
  leases_.block_released(index, lease);
}

void Server::on_lost(std::uint32_t index, const shm::Event& event) {
  const auto status = static_cast<Status>(static_cast<std::int32_t>(event.token));
  ledger_.write_failed(clients_[index].rank(), event.subject, event.iteration,
                       status_meaning(status), event.bytes);
}

void Server::pass_on_complete() {
  while (std::optional<Iteration> iteration = iterations_.take_complete()) {
    ledger_.handed_over(*iteration);
    holds_.hold(&*iteration);
    for (std::size_t i = 0; i < iteration->holds.size(); ++i) held_.insert(iteration->number);
    iteration->parameters = parameters_.at(iteration->number);
    // What was on the disk when a server died, was so because no script wanted it any more.
    if (!hold_spilled(&*iteration)) scripts_.submit(*iteration);
    start_stores();
    pipeline_.submit(std::move(*iteration));
  }
}

void Server::take_results() {
  for (PipelineResult& result : pipeline_.take_results()) {
    for (const BlockProblem& problem : result.problems) report(problem, result.iteration);
    ledger_.settled(result);
    made_progress();
    switch (result.kind) {
      case PipelineResult::Kind::iteration:
        note_done(result);
        break;
      case PipelineResult::Kind::opened:
      case PipelineResult::Kind::script_results:
        break;
      case PipelineResult::Kind::closed:
        closed_ = true;
        break;
    }
  }
  ledger_file_.update(ledger_);
  take_returned_blocks();
  steer();
  serve_requests();
  if (scripts_.exists() && leases_.somebody_waits()) scripts_.let_go_for_memory();
}

// The iteration's blocks are still held by the result: a server that takes over either finds them,
// or these words.
void Server::note_done(const PipelineResult& result) noexcept {
  for (shm::StoreWords& store : segment_.stores()) store.done.store(result.iteration);
  segment_.server_words().done_iteration.store(result.iteration);
  segment_.server_words().fruitless.store(0, std::memory_order_relaxed);
  parameters_.forget(result.iteration);
}

void Server::report(const BlockProblem& problem, std::int64_t iteration) {
  const std::string& name = model_.variables[problem.variable].name;
  complain(problem.client,
           fmt::format("\"{}\" of iteration {}: {}", name, iteration, problem.what));
  ledger_.write_failed(problem.rank, problem.variable, iteration, problem.what);
}

void Server::take_returned_blocks() {
  for (const Returned& returned : holds_.take_returned()) {
    held_.erase(held_.find(returned.iteration));
    for (const Block& block : returned.blocks) release(block);
    made_progress();
  }
}

void Server::steer() {
  for (const SteeringRequest& request : scripts_.take_steering()) {
    const std::string why = steering_.set(request.parameter, request.value, request.script);
    if (!why.empty()) log_->error("script \"{}\", ctx.set: {}", request.script, why);
  }
  steering_.advance();
  for (const AuditEntry& entry : steering_.take_audit()) {
    if (entry.iteration == AuditEntry::kNever) continue;
    log_->info("script \"{}\" steers {} from {} to {}, from iteration {} on", entry.who,
               entry.parameter, entry.old_value, entry.new_value, entry.iteration);
    journal_.note(ParameterLog::steered_entry(entry.iteration, entry.parameter, entry.new_value));
    parameters_.steer(entry.iteration, entry.parameter, entry.new_value);
    scripts_.note_steering(entry);
  }
}

// A simulation that waits for memory must not wonder why.
void Server::say_who_waits() {
  const auto timeout_ns = static_cast<std::int64_t>(segment_.header().timeout_ns);
  const std::int64_t patience_ns = std::min(kSayAfterNs, timeout_ns / 2);
  for (const LeaseRequest& request : leases_.take_overdue(platform::now_ns() - patience_ns)) {
    log_->warn("rank {} waits for {}; the buffer is full; {}", clients_[request.client].rank(),
               platform::format_bytes(request.bytes), who_holds_memory(request));
  }
}

std::string Server::who_holds_memory(const LeaseRequest& request) const {
  if (std::string script = scripts_.slowest(); !script.empty()) return script;
  if (std::string store = pipeline_.slowest(); !store.empty()) return store;
  const std::vector<std::uint32_t> behind = leases_.behind(request.iteration);
  if (behind.empty()) return "all of it is in use";
  std::string ranks;
  for (std::size_t i = 0; i < behind.size() && i < kMostNamed; ++i)
    ranks += (i ? ", " : "") + std::to_string(clients_[behind[i]].rank());
  return fmt::format("iteration {} is not ended by rank{} {}{}", iterations_.current(behind[0]),
                     behind.size() == 1 ? "" : "s", ranks,
                     behind.size() > kMostNamed ? ", ..." : "");
}

void Server::release(const Block& block) {
  const bool is_on_disk = block.lease == 0;
  if (!is_on_disk) leases_.block_released(block.client, block.lease);
}

std::int64_t Server::oldest_unfinished() const noexcept {
  return held_.empty() ? iterations_.oldest() : *held_.begin();
}

void Server::give_leases() {
  for (const Grant& grant : leases_.serve()) {
    shm::Release release{};
    release.kind = static_cast<std::uint32_t>(shm::ReleaseKind::lease);
    release.flags = grant.request.flags;
    release.token = grant.request.token;
    release.offset = grant.extent.offset;
    release.bytes = grant.extent.bytes;
    if (!clients_[grant.request.client].release(release)) {
      leases_.seal(grant.request.client, grant.extent.offset, 0);
    }
  }
}

void Server::serve_requests() {
  for (;;) {
    give_leases();
    // Iterations that are complete but not yet passed on can free memory too.
    pass_on_complete();
    if (make_room()) continue;
    const std::optional<LeaseRequest> hopeless = leases_.take_hopeless(oldest_unfinished());
    if (!hopeless) return;
    give_up(*hopeless);
  }
}

void Server::refuse(const LeaseRequest& request, shm::RefusalReason reason,
                    std::int64_t iteration) {
  shm::Release refusal{};
  refusal.kind = static_cast<std::uint32_t>(shm::ReleaseKind::refused);
  refusal.flags = static_cast<std::uint32_t>(reason);
  refusal.token = request.token;
  refusal.offset = static_cast<std::uint64_t>(iteration);
  refusal.bytes = std::max<std::uint64_t>(1, leases_.used_bytes());
  clients_[request.client].release(refusal);
}

}  // namespace leat::server
