// SPDX-License-Identifier: Apache-2.0
// Server: what clients say, and what follows from it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lib/platform/clock.hpp"
#include "server/engine/server.hpp"

namespace leat::server {
namespace {

// After so many events of one client the others get their turn.
constexpr int kBatch = 256;
// A client whose memory is corrupt must not fill the disk with lines about it.
constexpr int kMostComplaints = 100;
// Of findings of one iteration; the ledger has them all.
constexpr std::size_t kMostNamed = 8;

// <time> names a parameter that had no value when the iteration ended.
std::optional<Finding> time_not_set(const model::Model& model, const PipelineResult& result) {
  const auto* const iteration = std::get_if<Iteration>(&result.work);
  if (!iteration || !model.time || model.time->parameter >= iteration->parameters.size()) return {};
  const ParameterValue& time = iteration->parameters[model.time->parameter];
  if (!std::holds_alternative<std::monostate>(time)) return {};
  const std::string& name = model.parameters[model.time->parameter].name;
  return Finding{
      "time", Ledger::kUnknownName, iteration->number,
      fmt::format("the time of the simulation, parameter \"{}\", has no value, and files count "
                  "iterations instead: call leat_set_double(\"{}\", ...) before each "
                  "leat_end_iteration, or take <time parameter=\"{}\"/> out of the XML",
                  name, name, name)};
}

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
      if (!is_number(index, event.iteration)) return;
      end_all_before(index, event.iteration + 1);
      return serve_requests();
    case shm::EventKind::lease_request:
      return on_lease_request(index, event);
    case shm::EventKind::seal:
      return on_seal(index, event);
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
    case shm::EventKind::forgo:
      return on_forgo(index, event);
  }
  complain(index, fmt::format("sent an event of unknown kind {}", event.kind));
}

void Server::complain(std::uint32_t index, const std::string& what) {
  const int count = clients_[index].count_complaint();
  if (count > kMostComplaints) return;
  log_->error("rank {}: {}{}", clients_[index].rank(), what,
              count == kMostComplaints ? "; nothing more is said of what makes no sense" : "");
}

bool Server::is_number(std::uint32_t index, std::int64_t iteration) {
  if (iteration >= 0 && iteration < shm::kMostIterations) return true;
  complain(index, fmt::format("speaks of iteration {}, which makes no sense", iteration));
  return false;
}

// The client is in `iteration`, and has ended all before it. That it was there already is no error:
// a thread may end an iteration while another one does.
void Server::end_all_before(std::uint32_t index, std::int64_t iteration) {
  if (iteration <= iterations_.current(index)) return;
  if (index == 0) first_rank_ended(iteration - 1);
  iterations_.ended(index, iteration - 1);
  leases_.iteration_ended(index, iteration - 1);
  offers_.iteration_ended(index);
}

// Sets `*error` when the block is of an iteration that it cannot be of.
bool Server::enters(std::uint32_t index, std::int64_t iteration, std::string* error) {
  const std::int64_t current = iterations_.current(index);
  if (iteration >= current && iteration < shm::kMostIterations) {
    end_all_before(index, iteration);
    return true;
  }
  *error = fmt::format("it is of iteration {}, and its rank is in {}", iteration, current);
  return false;
}

void Server::on_block(std::uint32_t index, const shm::Event& event) {
  const std::uint64_t lease =
      event.offset % shm::kCacheLine == 0 ? leases_.extent_of(index, event.offset, event.bytes) : 0;
  std::string error = "it does not lie in memory leased to this rank";
  std::optional<Block> block;
  if (lease != 0 && event.bytes >= sizeof(shm::BlockHeader) &&
      enters(index, event.iteration, &error)) {
    block = clients_[index].read_block(event, &error);
  }
  if (lease != 0) {
    leases_.block_came(index, lease, event.bytes);
    if (const std::uint64_t own = leases_.bytes_of_own(index, lease))
      offers_.replace(index, own, shm::kLeaseOwn);
  }
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

void Server::on_seal(std::uint32_t index, const shm::Event& event) {
  // One that a server which has died did not read may speak of an earlier lease of that memory.
  if (event.token != lease_table_.id_at(event.offset)) return;
  leases_.seal(index, event.offset, event.bytes);
  const bool was_used = event.bytes > 0;
  if (was_used) offers_.replace(index, segment_.header().extent_bytes, shm::kLeaseCommon);
  serve_requests();
}

void Server::on_forgo(std::uint32_t index, const shm::Event& event) {
  const std::uint64_t lease = leases_.extent_of(index, event.offset, event.bytes);
  if (lease == 0) return;
  leases_.block_came(index, lease, event.bytes);
  leases_.block_released(index, lease);
  serve_requests();
}

void Server::on_lease_request(std::uint32_t index, const shm::Event& event) {
  if (facts_.drained) return;  // by one that is dead
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
  const auto number = static_cast<std::uint32_t>(event.token >> 32);
  if (number != 0 && reports_.why(index, number).empty() && clients_[index].socket() >= 0)
    (void)take_reports(clients_[index]);  // it has come before the event
  std::string why = reports_.why(index, number);
  if (why.empty()) why = status_meaning(status);
  const std::uint32_t writes = std::max(1u, event.block);
  clients_[index].count_failed(writes);
  const bool is_untold = event.subject == shm::kUntoldVariable;
  ledger_.write_failed(clients_[index].rank(), is_untold ? Ledger::kUntold : event.subject,
                       event.iteration, why, event.bytes, writes);
}

// What a client was refused, and could not say before it ended: its ring was full.
void Server::count_untold(std::uint32_t index) {
  const std::uint64_t untold = clients_[index].take_untold();
  if (untold == 0) return;
  log_->error(
      "rank {}: {} more write{} failed, from iteration {} on; it ended before it could say "
      "which",
      clients_[index].rank(), untold, untold == 1 ? "" : "s", iterations_.current(index));
  ledger_.write_failed(clients_[index].rank(), Ledger::kUntold, iterations_.current(index),
                       "from this iteration on; the rank ended before it could say which", 0,
                       untold);
}

void Server::pass_on_complete() {
  if (!may_store()) return;
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
  spiller_.take_written([this](const nlohmann::json& entry) { return journal_.note(entry); });
  if (journal_.needs_rewriting()) write_journal_anew();
  for (PipelineResult& result : pipeline_.take_results()) {
    for (const BlockProblem& problem : result.problems) report(problem, result.iteration);
    if (std::optional<Finding> time = time_not_set(model_, result))
      result.findings.push_back(std::move(*time));
    report(result.findings);
    // What was taken out is in no store.
    if (!result.problems.empty()) ledger_.handed_over(std::get<Iteration>(result.work));
    ledger_.settled(result);
    made_progress();
    switch (result.kind) {
      case PipelineResult::Kind::iteration:
        note_done(result);
        break;
      case PipelineResult::Kind::opened:
        stores_opened(result);
        break;
      case PipelineResult::Kind::script_results:
        break;
      case PipelineResult::Kind::closed:
        closed_ = true;
        break;
    }
  }
  ledger_file_.update(ledger_);
  take_populated();
  take_returned_blocks();
  steer();
  serve_requests();
  if (scripts_.exists() && leases_.somebody_waits()) scripts_.let_go_for_memory();
  note_scripts();
}

// As soon as something is amiss, so that it outlives this server; the rest at the end.
void Server::note_scripts() {
  const std::uint64_t trouble = scripts_.trouble();
  if (trouble == script_trouble_) return;
  script_trouble_ = trouble;
  for (const auto& [name, fate] : scripts_.fates()) ledger_.script_fared(name, fate);
}

// The iteration's blocks are still held by the result: a server that takes over either finds them,
// or these words.
void Server::note_done(const PipelineResult& result) noexcept {
  for (shm::StoreWords& store : segment_.stores()) store.done.store(result.iteration);
  segment_.server_words().done_iteration.store(result.iteration);
  segment_.server_words().fruitless.store(0, std::memory_order_relaxed);
  parameters_.forget(result.iteration);
  spiller_.forget(result.iteration);
}

void Server::report(const BlockProblem& problem, std::int64_t iteration) {
  const std::string& name = model_.variables[problem.variable].name;
  complain(problem.client,
           fmt::format("\"{}\" of iteration {}: {}", name, iteration, problem.what));
  ledger_.write_failed(problem.rank, problem.variable, iteration, problem.what, problem.bytes);
}

// Each once. A hole that a write which failed has left is said to be a loss already.
void Server::report(const std::vector<Finding>& findings) {
  std::size_t said = 0;
  for (const Finding& each : findings) {
    if (ledger_.has_failed(each.variable, each.iteration)) continue;
    if (!ledger_.warn(each.what, each.variable, each.iteration, each.text)) continue;
    if (++said <= kMostNamed) log_->warn("iteration {}: {}", each.iteration, each.text);
  }
  if (said > kMostNamed)
    log_->warn("... and {} variables more, see {}", said - kMostNamed, ledger_file_.name());
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

}  // namespace leat::server
