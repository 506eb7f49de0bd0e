// SPDX-License-Identifier: Apache-2.0
#include "server/engine/failover.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "lib/base/text.hpp"
#include "lib/os/crc32c.hpp"
#include "server/engine/published_by_ranks.hpp"

namespace leat::server {
namespace {

using Phase = ClientLink::Phase;

// Servers in a row that end without having got one iteration done: the next would end as they did.
constexpr std::uint32_t kMostFruitless = 16;
// Iterations of which it is said, one by one, that nobody can know what became of them.
constexpr std::int64_t kMostUnknown = 10'000;

bool by_event(const shm::FoundBlock& a, const shm::FoundBlock& b) {
  return a.header.event < b.header.event;
}

shm::Event event_of(const shm::FoundBlock& found) {
  shm::Event event{};
  event.subject = found.header.variable;
  event.block = found.header.block;
  event.iteration = found.header.iteration;
  event.offset = found.offset;
  event.bytes = sizeof(shm::BlockHeader) + found.header.data_bytes;
  return event;
}

// The most bytes of one iteration.
std::uint64_t peak_of(const std::vector<shm::FoundBlock>& blocks) {
  std::map<std::int64_t, std::uint64_t> bytes;
  for (const shm::FoundBlock& each : blocks) bytes[each.header.iteration] += each.header.data_bytes;
  std::uint64_t peak = 0;
  for (const auto& [iteration, of_it] : bytes) peak = std::max(peak, of_it);
  return peak;
}

}  // namespace

Result<void> Failover::may_take_over(const shm::Segment& segment) {
  if (segment.server_state().fruitless.load() < kMostFruitless) return {};
  return Error{Status::ERROR_SERVER, std::to_string(kMostFruitless) +
                                         " servers in a row have died before they got an iteration "
                                         "done: not trying again"};
}

std::int64_t Failover::done() const noexcept {
  return session_.run.segment.server_state().done_iteration.load();
}

void Failover::take_over(const std::string& journal_path) {
  journal_path_ = journal_path;
  const Run& run = session_.run;
  shm::ServerState& words = run.segment.server_state();
  words.failovers.fetch_add(1, std::memory_order_relaxed);
  words.fruitless.fetch_add(1, std::memory_order_relaxed);
  words.naps.store(0, std::memory_order_seq_cst);
  words.harvesters.store(0, std::memory_order_relaxed);
  words.coordinated.store(0, std::memory_order_relaxed);
  // Awake; and no client believes that it has rung for this server already.
  if (words.sleeps.load() % 2 == 1) words.sleeps.fetch_add(1, std::memory_order_seq_cst);
  for (const JournalRecord& record : SessionJournal::read(journal_path)) apply(record);
  take_clients();
  take_dropped();
  take_leases();
  take_back_offers();
  take_spilled();
  session_.signals.take_over(done());
  if (session_.journal.is_new()) journal_is_gone();
  session_.parameters.take_over();
  session_.rounds.take_over();
  rewrite_journal();
  for (std::size_t i = 0; i < run.model.stores.size(); ++i)
    take_store(run.model.stores[i].name, run.segment.stores()[i]);
  if (run.facts.drained) return;
  report_scripts();
  run.log->warn(
      "the server of this session died, and this server has taken over: iterations up to {} are "
      "stored, {} of later iterations {} still to be stored",
      done(), counted(adopted_, "block"), adopted_ == 1 ? "is" : "are");
}

// It may be ahead of the others, and of what the event loop knew of it; or be left with what the
// others are past, which nobody can give it again.
void Failover::take_store(const std::string& store, shm::StoreWords& words) {
  Ledger& ledger = session_.record.ledger();
  ledger.stored_until(store, words.done.load());
  const std::int64_t begun = words.begun.load();
  if (begun <= words.done.load() || begun > done()) return;
  ledger.died_aside(store, begun);
  session_.run.log->error("store \"{}\" does not have iteration {}: the server died in it", store,
                          begun);
  words.done.store(begun);
}

// What the stores had is not given to scripts again: it may not be in memory any more.
void Failover::report_scripts() {
  const Run& run = session_.run;
  const std::int64_t first = run.segment.server_state().scripts_pending.load() - 1;
  if (first >= 0 && first <= done()) {
    const std::string text = fmt::format(
        "scripts may not have been called with iterations {} to {}, which they had or "
        "waited for when the server died",
        first, done());
    session_.record.ledger().incidents().warn("scripts", Ledger::kUnknownName, first, text);
    run.log->warn("{}", text);
  }
  run.segment.server_state().scripts_pending.store(0);  // now that it is written down
}

void Failover::take_clients() {
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i) {
    ClientLink& client = session_.clients[i];
    client.resume();
    // Welcomed by the dead server, and without the segment yet: it comes as if for the first time.
    const bool had_segment = client.lives() || client.saved().events > 0;
    if (!session_.run.facts.drained && client.is_awaited() && !had_segment && !client.has_events())
      client.leave(Phase::absent);
    if (client.phase() == Phase::absent) continue;
    if (client.saved().iteration > 0) beginning_.of_resumed(i);
    session_.iterations.resume(i, client.saved().iteration);
  }
  session_.record.rank_came();
}

void Failover::take_leases() {
  std::vector<std::vector<shm::FoundBlock>> found = adopt_leases();
  for (std::uint32_t i = 0; i < found.size(); ++i) take_blocks(i, std::move(found[i]));
  close_before_first(session_);
}

// Blocks whose events the dead server had taken, by client.
std::vector<std::vector<shm::FoundBlock>> Failover::adopt_leases() {
  std::vector<std::vector<shm::FoundBlock>> found(session_.clients.size());
  const shm::LeaseTable& table = session_.memory.table();
  for (const shm::Lease& lease : table.all()) {
    const ClientLink& client = session_.clients[lease.client];
    if (!session_.memory.regions().adopt(lease)) {
      session_.run.log->error("a lease of rank {} is not valid and is not taken over",
                              client.rank());
      continue;
    }
    for (const shm::FoundBlock& block : table.blocks_in(lease)) {
      const bool taken = block.header.event != 0 && block.header.event <= client.saved().events;
      if (taken) found[lease.client].push_back(block);
    }
  }
  return found;
}

// In the order in which they were handed over: a later one replaces an earlier one.
void Failover::take_blocks(std::uint32_t client, std::vector<shm::FoundBlock> found) {
  std::sort(found.begin(), found.end(), by_event);
  for (const shm::FoundBlock& block : found) {
    session_.memory.leases().was_in(block.header.iteration);
    adopt_block(client, block);
  }
  session_.memory.leases().resume(client, session_.clients[client].saved().iteration,
                                  peak_of(found));
}

// What lies in a region says more than a word of an offer, which a wild pointer may have written.
void Failover::take_back_offers() {
  LeasedRegions& regions = session_.memory.regions();
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i) {
    for (const std::uint64_t offset : session_.memory.offers().take_over(i)) {
      const std::uint64_t bytes = regions.bytes_of(i, offset);
      if (bytes != 0 && blocks_in(i, {offset, bytes}) == 0) regions.seal(i, offset, 0);
    }
  }
}

// Its event was taken by the dead server: it has been through all stores, or waits for them.
void Failover::adopt_block(std::uint32_t client, const shm::FoundBlock& found) {
  const shm::Event event = event_of(found);
  LeasedRegions& regions = session_.memory.regions();
  const std::uint64_t lease = regions.region_of(client, event.offset, event.bytes);
  if (lease == 0) return;
  session_.memory.leases().block_came(client, lease, event.bytes);
  if (event.subject == shm::kProducts) return adopt_products(client, event, lease);
  std::optional<Block> block = read_waiting(client, event);
  if (!block) return regions.block_released(client, lease);
  block->lease = lease;
  add(beginning_.place_of(client, event.iteration), *block);
}

// The memory would be another one's by now, had they come to all that want them.
void Failover::adopt_products(std::uint32_t client, const shm::Event& event, std::uint64_t lease) {
  shm::Event pushed = event;
  pushed.subject = event.block;
  std::string error;
  Block block;
  block.client = client;
  block.lease = lease;
  std::optional<Publication> publication = published_by_rank(session_.run.segment, pushed, &error);
  if (!publication) return session_.memory.release(block);  // the dead server has said so
  const std::int64_t iteration = publication->iteration;
  if (is_undeclared(*publication) && session_.dropped.has(iteration))
    return session_.memory.release(block);
  const bool waits = iteration > done() && iteration < session_.clients[client].saved().iteration +
                                                           (is_undeclared(*publication) ? 1 : 0);
  dispatcher_.publish(std::move(*publication), block, waits);
}

// Nothing of what waits no longer.
std::optional<Block> Failover::read_waiting(std::uint32_t client, const shm::Event& event) {
  ClientLink& link = session_.clients[client];
  const std::int64_t iteration = beginning_.place_of(client, event.iteration);
  const bool waits = iteration > done() && !session_.dropped.has(iteration) &&
                     event.iteration <= link.saved().iteration;
  if (!waits) return std::nullopt;
  std::string error;
  std::optional<Block> block = link.blocks().read_found(event, link.rank(), &error);
  if (block || !session_.journal.is_new()) return block;  // else the dead server has said so
  session_.clients.complain(
      client, fmt::format("a block of iteration {} is not valid: {}", event.iteration, error));
  session_.record.ledger().write_failed(link.rank(), event.subject, event.iteration, error,
                                        event.bytes - sizeof(shm::BlockHeader));
  return block;
}

void Failover::add(std::int64_t iteration, const Block& block) {
  ++adopted_;
  if (const std::optional<Block> replaced = session_.iterations.add_to(iteration, block))
    session_.memory.release(*replaced);
}

// Some rank may have yet to end it, and write into it.
void Failover::take_dropped() {
  std::int64_t earliest = INT64_MAX;
  for (const ClientLink& client : session_.clients)
    earliest = std::min(earliest, client.is_gone() ? INT64_MAX : client.saved().iteration);
  for (const std::int64_t iteration : session_.dropped.numbers()) {
    if (iteration >= earliest) session_.iterations.drop(iteration);
  }
}

// What the journal says of files, not what lies in the folder, says what there must be: of a file
// that is missing the blocks are lost, by name, when their iteration is to be stored.
void Failover::take_spilled() {
  std::erase_if(spilled_, [&](const SpillRecord& record) {
    return record.iteration <= done() || !makes_sense(record);
  });
  std::set<std::int64_t> iterations;
  for (const SpillRecord& record : spilled_) iterations.insert(record.iteration);
  spiller_.restore(std::exchange(spilled_, {}));
  for (const std::int64_t iteration : iterations) {
    for (const auto& file : spiller_.files_of(iteration)) {
      for (const Block& block : file->blocks()) adopt_spilled(iteration, block);
    }
  }
}

// It says what was spilled: of an iteration that should be there, and of which there is nothing,
// nobody can know.
void Failover::journal_is_gone() {
  const Run& run = session_.run;
  run.log->error(
      "the journal of the session, {}, is gone, or another version of Leat wrote it: parameters "
      "have the values of the XML, and it is not known what was spilled, dropped, lost or "
      "signalled",
      journal_path_);
  if (run.model.architecture.overflow_policy != model::OverflowPolicy::spill) return;
  for (const ClientLink& client : session_.clients) {
    if (client.phase() != Phase::absent) nobody_knows_of(client);
  }
}

void Failover::nobody_knows_of(const ClientLink& client) {
  const std::int64_t first = done() + 1;
  const std::int64_t end = std::min(client.saved().iteration, first + kMostUnknown);
  for (std::int64_t i = first; i < end; ++i) {
    if (session_.iterations.holds(i)) continue;
    session_.record.ledger().write_failed(
        client.rank(), Ledger::kUnknownName, i,
        "the journal of the session, which said what was spilled, is gone");
  }
}

bool Failover::makes_sense(const SpillRecord& record) const {
  const bool sane =
      std::all_of(record.blocks.begin(), record.blocks.end(), [this](const SpillRecord::One& one) {
        return one.client < session_.clients.size() &&
               one.variable < session_.run.model.variables.size();
      });
  if (!sane)
    session_.run.log->error("the journal names a spill file that cannot be of this run: {}",
                            record.file);
  return sane;
}

// The dead server may not have come to the point at which its copy in the segment is let go. One
// with other bytes is an earlier one, which this one had replaced.
void Failover::adopt_spilled(std::int64_t iteration, const Block& block) {
  const Block* const known = session_.iterations.find(iteration, block);
  if (known && known->data && known->bytes == block.bytes &&
      os::crc32c(known->data, known->bytes) == block.file->checksum(block.place)) {
    return;
  }
  add(iteration, block);
}

// From here on it is known which of its extents it still cuts blocks from; all others are full, or
// have never reached it. What this server has given it already is on its way.
void Failover::come_back(const shm::Hello& hello, std::unique_ptr<shm::ToClient> connection) {
  const auto index = static_cast<std::uint32_t>(hello.node_rank);
  ClientLink& client = session_.clients[index];
  client.come_back(hello, std::move(connection));
  if (client.is_gone()) return;
  LeasedRegions& regions = session_.memory.regions();
  for (const shm::Region& region : regions.adopted(index, false)) {
    if (region.offset == hello.current_region || region.offset == hello.spare_region) continue;
    regions.seal(index, region.offset, blocks_in(index, region));
  }
  for (const shm::Region& region : regions.adopted(index, true)) {
    if (blocks_in(index, region) == 0) regions.seal(index, region.offset, 0);
  }
}

std::size_t Failover::blocks_in(std::uint32_t client, const shm::Region& region) const {
  const shm::LeaseTable& table = session_.memory.table();
  return table.blocks_in({region, client, 0, table.id_at(region.offset)}).size();
}

namespace {

template <class... Each>
struct Overloaded : Each... {
  using Each::operator()...;
};
template <class... Each>
Overloaded(Each...) -> Overloaded<Each...>;  // clang before 17 deduces no aggregate

// Takes the records that `owner` can apply.
template <class Owner>
auto owned_by(Owner& owner) {
  return [&owner](const auto& record) requires requires { owner.apply(record); }
  { owner.apply(record); };
}

}  // namespace

// Each kind of record has one owner: it would not compile else.
void Failover::apply(const JournalRecord& record) {
  std::visit(Overloaded{owned_by(session_.signals), owned_by(session_.of_run),
                        owned_by(session_.rounds), owned_by(session_.joining),
                        owned_by(session_.run_steering), owned_by(session_.parameters),
                        owned_by(session_.record), owned_by(session_.dropped), owned_by(beginning_),
                        [this](const SpillRecord& spilled) { spilled_.push_back(spilled); },
                        [this](const OtherRanksCame& others) {
                          for (const std::int32_t rank : others.ranks)
                            session_.clients.other_came(rank);
                        }},
             record);
}

void Failover::tend_journal() {
  if (session_.journal.needs_rewriting()) rewrite_journal();
}

void Failover::rewrite_journal() {
  std::vector<JournalRecord> records = session_.parameters.snapshot();
  for (const auto& more : {session_.dropped.snapshot(), session_.signals.snapshot(),
                           session_.record.snapshot(), spiller_.snapshot(), beginning_.snapshot()})
    records.insert(records.end(), more.begin(), more.end());
  records.emplace_back(session_.of_run.snapshot());
  records.emplace_back(session_.run_steering.snapshot());
  records.emplace_back(session_.rounds.snapshot());
  records.emplace_back(session_.joining.snapshot());
  if (const auto others = session_.clients.others_seen(); !others.empty())
    records.emplace_back(OtherRanksCame{others});
  session_.journal.rewrite(records);
}

}  // namespace leat::server
