// SPDX-License-Identifier: Apache-2.0
// Server: what it makes of the segment of one that has died. Everything is taken from words that
// the dead server had written in one step each, from the headers of blocks, and from the journal of
// the session; docs/design/takeover.md says why that is enough, wherever the other was killed.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/platform/crc32c.hpp"
#include "server/engine/server.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

// Servers in a row that end without having got one iteration done: the next would end as they did.
constexpr std::uint32_t kMostFruitless = 16;

bool by_event(const shm::FoundBlock& a, const shm::FoundBlock& b) {
  return a.header.event < b.header.event;
}

}  // namespace

Result<void> Server::may_take_over(const shm::Segment& segment) {
  if (segment.server_words().fruitless.load() < kMostFruitless) return {};
  return Error{Status::ERROR_SERVER, std::to_string(kMostFruitless) +
                                         " servers in a row have died before they got an iteration "
                                         "done: not trying again"};
}

void Server::take_over() {
  shm::ServerWords& words = segment_.server_words();
  words.takeovers.fetch_add(1, std::memory_order_relaxed);
  words.fruitless.fetch_add(1, std::memory_order_relaxed);
  words.naps.store(0, std::memory_order_seq_cst);
  // Awake; and no client believes that it has rung for this server already.
  if (words.sleeps.load() % 2 == 1) words.sleeps.fetch_add(1, std::memory_order_seq_cst);
  for (const json& entry : SessionJournal::read(journal_path_)) take_journal_entry(entry);
  take_over_clients();
  take_over_dropped();
  take_over_leases();
  take_back_offers();
  take_over_spilled();
  if (journal_.is_new()) journal_is_gone();
  steering_.take_over();
  for (const AuditEntry& entry : steering_.committed())
    parameters_.steer(entry.iteration, entry.parameter, entry.new_value);
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i].is_gone()) forget_client(i, clients_[i].phase() == ClientLink::Phase::dead);
  }
  write_journal_anew();
  const std::int64_t done = words.done_iteration.load();
  // A store may be ahead of the others, and of what the event loop knew of it.
  for (std::size_t i = 0; i < model_.stores.size(); ++i)
    ledger_.stored_until(model_.stores[i].name, segment_.stores()[i].done.load());
  if (facts_.drained) return;
  log_->warn(
      "the server before this one has died; this one has taken over its segment: all up to "
      "iteration {} had been through the stores, {} block{} of later ones {} waiting",
      done, adopted_blocks_, adopted_blocks_ == 1 ? "" : "s", adopted_blocks_ == 1 ? "is" : "are");
}

void Server::take_over_clients() {
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    ClientLink& client = clients_[i];
    client.resume();
    // Welcomed by the dead server, and without the segment yet: it comes as if for the first time.
    const bool had_segment = client.lives() || client.saved().events > 0;
    if (!facts_.drained && client.is_awaited() && !had_segment && !client.has_events())
      client.leave(ClientLink::Phase::absent);
    if (client.phase() == ClientLink::Phase::absent) continue;
    iterations_.resume(i, clients_[i].saved().iteration);
  }
}

void Server::take_over_leases() {
  std::vector<std::vector<shm::FoundBlock>> found(clients_.size());
  for (const shm::Lease& lease : lease_table_.all()) {
    if (!leases_.adopt(lease)) {
      log_->error("a lease of rank {} makes no sense and is not taken over",
                  clients_[lease.client].rank());
      continue;
    }
    for (const shm::FoundBlock& block : lease_table_.blocks_in(lease)) {
      const bool taken =
          block.header.event != 0 && block.header.event <= clients_[lease.client].saved().events;
      if (taken) found[lease.client].push_back(block);
    }
  }
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    // In the order in which they were handed over: a later one replaces an earlier one.
    std::sort(found[i].begin(), found[i].end(), by_event);
    std::map<std::int64_t, std::uint64_t> bytes;  // by iteration
    for (const shm::FoundBlock& block : found[i]) {
      adopt_block(i, block);
      bytes[block.header.iteration] += block.header.data_bytes;
    }
    std::uint64_t peak = 0;
    for (const auto& [iteration, of_it] : bytes) peak = std::max(peak, of_it);
    leases_.resume(i, clients_[i].saved().iteration, peak);
  }
}

// What lies in an extent says more than a word of an offer, which a wild pointer may have written.
void Server::take_back_offers() {
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    for (const std::uint64_t offset : offers_.take_over(i)) {
      const std::uint64_t bytes = leases_.bytes_of(i, offset);
      if (bytes != 0 && blocks_in(i, {offset, bytes}) == 0) leases_.seal(i, offset, 0);
    }
  }
}

// Its event was taken by the dead server: it has been through all stores, or waits for them.
void Server::adopt_block(std::uint32_t index, const shm::FoundBlock& found) {
  shm::Event event{};
  event.subject = found.header.variable;
  event.block = found.header.block;
  event.iteration = found.header.iteration;
  event.offset = found.offset;
  event.bytes = sizeof(shm::BlockHeader) + found.header.data_bytes;
  const std::uint64_t lease = leases_.extent_of(index, event.offset, event.bytes);
  if (lease == 0) return;
  leases_.block_came(index, lease, event.bytes);
  const std::int64_t iteration = found.header.iteration;
  const bool waits = iteration > segment_.server_words().done_iteration.load() &&
                     dropped_.count(iteration) == 0 &&
                     iteration <= clients_[index].saved().iteration;
  std::string error;
  std::optional<Block> block;
  if (waits) block = clients_[index].read_block(event, &error);
  if (waits && !block && journal_.is_new()) {  // else the dead server has said so
    complain(index, fmt::format("a block of iteration {} makes no sense: {}", iteration, error));
    ledger_.write_failed(clients_[index].rank(), found.header.variable, iteration, error,
                         found.header.data_bytes);
  }
  if (!block) return leases_.block_released(index, lease);
  block->lease = lease;
  ++adopted_blocks_;
  if (const std::optional<Block> replaced = iterations_.add_to(iteration, *block))
    release(*replaced);
}

// Some rank may have yet to end it, and write into it.
void Server::take_over_dropped() {
  std::int64_t earliest = INT64_MAX;
  for (const ClientLink& client : clients_)
    earliest = std::min(earliest, client.is_gone() ? INT64_MAX : client.saved().iteration);
  for (const std::int64_t iteration : dropped_) {
    if (iteration >= earliest) iterations_.drop(iteration);
  }
}

// What the journal says of files, not what lies in the folder, says what there must be: of a file
// that is missing the blocks are lost, by name, when their iteration is to be stored.
void Server::take_over_spilled() {
  const std::int64_t done = segment_.server_words().done_iteration.load();
  std::erase_if(spill_records_, [&](const SpillRecord& record) {
    return record.iteration <= done || !makes_sense(record);
  });
  std::set<std::int64_t> iterations;
  for (const SpillRecord& record : spill_records_) iterations.insert(record.iteration);
  spiller_.take_up(std::exchange(spill_records_, {}));
  for (const std::int64_t iteration : iterations) {
    for (const auto& file : spiller_.files_of(iteration)) {
      for (const Block& block : file->blocks()) adopt_spilled(iteration, block);
    }
  }
}

// It says what was spilled: of an iteration that should be there, and of which there is nothing,
// nobody can know.
void Server::journal_is_gone() {
  constexpr std::int64_t kMost = 10'000;
  log_->error(
      "the journal of the session, {}, is gone: values of parameters are those of the XML, and "
      "what "
      "had been spilled, left out or lost is not known",
      journal_path_);
  if (model_.architecture.when_full != model::WhenFull::spill) return;
  const std::int64_t first = segment_.server_words().done_iteration.load() + 1;
  for (const ClientLink& client : clients_) {
    if (client.phase() == ClientLink::Phase::absent) continue;
    const std::int64_t end = std::min(client.saved().iteration, first + kMost);
    for (std::int64_t i = first; i < end; ++i) {
      if (iterations_.holds(i)) continue;
      ledger_.write_failed(client.rank(), Ledger::kUnknownName, i,
                           "the journal of the session, which said what was spilled, is gone");
    }
  }
}

bool Server::makes_sense(const SpillRecord& record) const {
  const bool sane =
      std::all_of(record.blocks.begin(), record.blocks.end(), [this](const SpillRecord::One& one) {
        return one.client < clients_.size() && one.variable < model_.variables.size();
      });
  if (!sane) log_->error("the journal speaks of a spilled file that cannot be: {}", record.file);
  return sane;
}

// The dead server may not have come to the point at which its copy in the segment is let go. One
// with other bytes is an earlier one, which this one had replaced.
void Server::adopt_spilled(std::int64_t iteration, const Block& block) {
  const Block* const known = iterations_.find(iteration, block);
  if (known && known->data && known->bytes == block.bytes &&
      platform::crc32c(known->data, known->bytes) == block.file->checksum(block.place)) {
    return;
  }
  if (const std::optional<Block> replaced = iterations_.add_to(iteration, block))
    release(*replaced);
  ++adopted_blocks_;
}

// True when something of it lies on the disk: its files are open as long as the iteration's own
// holds exist.
bool Server::hold_spilled(Iteration* iteration) {
  const Spiller::Files files = spiller_.files_of(iteration->number);
  if (files.empty()) return false;
  using Both = std::pair<std::shared_ptr<const void>, Spiller::Files>;
  for (auto& [variable, hold] : iteration->holds)
    hold = std::make_shared<Both>(std::move(hold), files);
  return true;
}

// From here on it is known which of its extents it still cuts blocks from; all others are full, or
// have never reached it. What this server has given it already is on its way.
void Server::come_back(const shm::Hello& hello, platform::UniqueFd connection) {
  const auto index = static_cast<std::uint32_t>(hello.node_rank);
  ClientLink& client = clients_[index];
  client.come_back(hello, std::move(connection));
  if (client.is_gone()) return;
  for (const shm::Extent& extent : leases_.adopted(index, false)) {
    if (extent.offset == hello.current_extent || extent.offset == hello.spare_extent) continue;
    leases_.seal(index, extent.offset, blocks_in(index, extent));
  }
  for (const shm::Extent& extent : leases_.adopted(index, true)) {
    if (blocks_in(index, extent) == 0) leases_.seal(index, extent.offset, 0);
  }
  place_when_known();
  serve_requests();
}

std::size_t Server::blocks_in(std::uint32_t index, const shm::Extent& extent) const {
  return lease_table_.blocks_in({extent, index, 0, lease_table_.id_at(extent.offset)}).size();
}

// A client that has yet to come back may compute for hours; whether it lives is seen by its lock.
void Server::look_for_dead_among_away() {
  for (ClientLink& client : clients_) {
    if (client.is_awaited() && !client.lives()) client_hung_up(client);
  }
}

bool Server::somebody_is_away() const noexcept {
  return std::any_of(clients_.begin(), clients_.end(),
                     [](const ClientLink& client) { return client.is_away() && client.lives(); });
}

// ---- the journal ----

void Server::note_loss(const std::string& line) {
  journal_.note({{"loss", line}});
  losses_.push_back(line);
}

void Server::take_journal_entry(const json& entry) {
  if (entry.contains("loss")) {
    losses_.push_back(entry["loss"]);
    ledger_.restore(losses_.back());
    return;
  }
  if (entry.contains("spilled")) {
    if (std::optional<SpillRecord> record = spill_record_of(entry))
      spill_records_.push_back(std::move(*record));
    return;
  }
  if (entry.contains("dropped"))
    return dropped_.insert(entry["dropped"].begin(), entry["dropped"].end());
  if (!entry.contains("client")) return parameters_.take_entry(entry);
  const std::uint32_t client = entry["client"];
  if (client < clients_.size()) clients_[client].set_integer(entry["integer"], entry["value"]);
}

void Server::write_journal_anew() {
  std::vector<json> entries = parameters_.entries();
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    for (const auto& [parameter, value] : clients_[i].integers())
      entries.push_back({{"client", i}, {"integer", parameter}, {"value", value}});
  }
  if (!dropped_.empty()) entries.push_back({{"dropped", dropped_}});
  for (const std::string& line : losses_) entries.push_back({{"loss", line}});
  for (json& entry : spiller_.entries()) entries.push_back(std::move(entry));
  journal_.rewrite(entries);
}

void Server::set_parameter(std::uint32_t index, std::uint32_t parameter, ParameterValue value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (clients_[index].set_integer(parameter, *integer))
      journal_.note({{"client", index}, {"integer", parameter}, {"value", *integer}});
  }
  if (index != 0 || !parameters_.differs(parameter, value)) return;
  journal_.note(ParameterLog::set_entry(parameter, value));
  parameters_.set(parameter, std::move(value));
}

void Server::first_rank_ended(std::int64_t iteration) {
  if (model_.parameters.empty()) return;
  journal_.note(ParameterLog::ended_entry(iteration));
  parameters_.iteration_ended(iteration);
}

}  // namespace leat::server
