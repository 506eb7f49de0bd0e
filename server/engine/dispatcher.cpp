// SPDX-License-Identifier: Apache-2.0
#include "server/engine/dispatcher.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/os/clock.hpp"
#include "server/engine/run_report.hpp"
#include "server/pipeline/plugin_columns.hpp"
#include "server/state/group/awaited_outcome.hpp"

namespace leat::server {
namespace {

SpillerParts spiller_parts(const Run& run, const DispatcherParts& parts) {
  const node::SpillFolder* const folder = parts.spill_folder;
  SpillerParts spill;
  if (folder) spill.folder = folder->descriptor();
  spill.path = folder ? folder->path() : run.model.architecture.spill_folder;
  spill.most_bytes = run.model.architecture.spill_bytes;
  spill.segment_start = run.segment.at<char>(0);
  spill.segment_bytes = run.segment.header().segment_bytes;
  spill.log = run.log;
  spill.wake = parts.wake;
  return spill;
}

std::uint64_t bytes_of(const Iteration& iteration) {
  std::uint64_t bytes = 0;
  for (const Block& block : iteration.blocks) bytes += block.bytes;
  return bytes;
}

// Of a run on several nodes nobody has all blocks in hand.
ArrayChecks::Wanted checks_of(const Run& run, bool overlaps) {
  ArrayChecks::Wanted wanted;
  wanted.holes = run.facts.has_all_ranks();
  wanted.overlaps = overlaps;
  wanted.from_start = run.segment.server_state().done_iteration.load() < 0;
  return wanted;
}

void tell(IterationEvents& events, const PipelineResult& result) {
  using Kind = IterationEvent::Kind;
  if (!events.is_watched()) return;
  for (const StoreOutcome& each : result.outcomes) {
    const Kind kind = each.skipped         ? Kind::skipped
                      : each.error.empty() ? Kind::stored
                                           : Kind::failed;
    events.add({kind, result.iteration, each.store, each.error});
  }
}

}  // namespace

Dispatcher::Dispatcher(SessionState& session, DispatcherParts parts)
    : session_(session),
      run_(session.run),
      drains_(parts.drains ? std::move(parts.drains)
                           : std::make_shared<Drains>(std::vector<node::UndrainedOne>(), run_.log)),
      pipeline_(std::move(parts.plugins), run_.segment.stores(),
                {parts.wake,
                 [this](std::int64_t iteration, const std::vector<Publication>& published,
                        bool by_stores) { scripts_.submit(iteration, published, by_stores); },
                 [this](const Iteration& iteration) { give_to_scripts(iteration); }},
                {static_cast<std::size_t>(run_.model.architecture.dedicated_cores),
                 os::allowed_cpus(), parts.lent_threads}),
      spiller_(spiller_parts(run_, parts), pipeline_.queue()),
      pins_(parts.wake),
      scripts_(
          run_, session.reductions,
          [this](Publication publication) { pipeline_.submit(std::move(publication)); },
          parts.wake) {
  for (std::uint32_t i = 0; i < pipeline_.stores().size(); ++i) {
    PluginHost& host = pipeline_.stores()[i]->plugin().host();
    host.show_ledger([this] { return session_.record.text(); });
    host.report_progress([this] { run_.made_progress(); });
    if (!run_.facts.has_all_ranks())
      host.reduce_by([this, i](const auto& reduction) { reduce(i, reduction); });
    host.take_turns_by([this, i](std::int32_t files) { return session_.turns.take(i, files); },
                       is_called_in_turn(run_.model.stores[i]));
  }
  for (const auto& store : pipeline_.stores())
    store->resume(run_.segment.server_state().done_iteration.load());
  pipeline_.check_with(run_.model, checks_of(run_, parts.check_overlaps));
  pipeline_.trace_with(run_.trace.get());
  if (parts.derivation && !run_.facts.has_all_ranks())
    parts.derivation->reduce_by([this](std::int64_t iteration, std::uint16_t call, auto columns) {
      return reduce_derived(
          {channel_of_store(static_cast<std::uint32_t>(run_.model.stores.size()), 0),
           number_of(iteration, call)},
          std::move(columns));
    });
  if (parts.derivation && run_.facts.resumed)
    for (const Block& each : parts.derivation->kept_for_scripts()) scripts_.know(each);
  pipeline_.derive_with(std::move(parts.derivation));
}

// With what is derived of it; from the pipeline's thread. What lies on a disk is not for scripts.
void Dispatcher::give_to_scripts(const Iteration& iteration) {
  const auto was_spilled = [](const Block& block) { return block.file != nullptr; };
  if (std::none_of(iteration.blocks.begin(), iteration.blocks.end(), was_spilled))
    scripts_.submit(iteration);
}

// Stores and scripts publish for each other: first those end that wait for others.
Dispatcher::~Dispatcher() {
  is_abandoned_.store(true);
  session_.turns.stop();
  scripts_.abandon();
  pipeline_.stop();
}

std::optional<Iteration> Dispatcher::take_oldest(const WaitingLine::Which& which) {
  std::optional<Iteration> taken = pipeline_.take_oldest(which);
  if (!taken) return taken;
  scripts_.submit(taken->number, {}, true);
  under_way_.came(taken->number);
  session_.signals.defer(taken->number);
  return taken;
}

// What it contributed counts; nobody here does anything with what comes of it, unless the store gets that
// iteration again.
void Dispatcher::report_reductions() const {
  for (std::uint32_t i = 0; i < pipeline_.stores().size(); ++i) {
    for (std::uint32_t step = 0; step < kMostReductionSteps; ++step) {
      if (!session_.rounds.is_open(channel_of_store(i, step))) continue;
      run_.log->warn(
          "store \"{}\": the server died while it reduced over the servers of the run; what it "
          "makes "
          "of iterations that it had before may be missing",
          pipeline_.stores()[i]->plugin().store());
      break;
    }
  }
}

void Dispatcher::start() {
  if (run_.facts.resumed) report_reductions();
  drains_->start();
  const RunFacts& facts = run_.facts;
  if (facts.has_all_ranks() || facts.drained || session_.clients.all_have_attached())
    start_stores();
  spiller_.start(run_.executor);
  scripts_.start();
}

// Its ranks that never attach are given up before there is anything to store.
void Dispatcher::start_stores() {
  if (pipeline_.is_started()) return;
  std::vector<std::int32_t> ranks;
  if (run_.facts.has_all_ranks()) {
    for (std::int32_t rank = 0; rank < run_.facts.ranks; ++rank) ranks.push_back(rank);
  } else {
    for (const auto& [first, last] : session_.clients.known_ranks())
      for (std::int32_t rank = first; rank <= last; ++rank) ranks.push_back(rank);
  }
  pipeline_.start(run_.executor, ranks, [drains = drains_] { drains->await_here(); });
}

// What is drained is passed on when all stores are open: otherwise it stays where it is, for
// another time.
void Dispatcher::pass_on_complete() {
  session_.signals.advance();
  if (!may_store()) return;
  const std::int64_t last = session_.of_run.known_until();
  while (std::optional<Iteration> iteration = session_.iterations.take_complete(last)) {
    session_.record.ledger().handed_over(*iteration);
    session_.events.complete(iteration->number, bytes_of(*iteration));
    pins_.pin(&*iteration);
    under_way_.hold(iteration->number, iteration->pins.size());
    iteration->parameters = session_.parameters.at(iteration->number);
    meshes_.look_at(iteration->number, iteration->parameters);
    iteration->signals = session_.signals.decide(iteration->number);
    for (const Signal& each : iteration->signals)
      session_.events.signalled(iteration->number, run_.model.events[each.event].name, each.rank,
                                each.times);
    for (const auto& [rank, died_in] : session_.record.ledger().incidents().deaths())
      if (died_in <= iteration->number) iteration->died.push_back(rank);
    // What was on the disk when a server died, was so because no script wanted it any more.
    if (!hold_spilled(&*iteration) && !pipeline_.derives()) scripts_.submit(*iteration);
    start_stores();
    if (is_awaited(pipeline_.stores(), *iteration)) under_way_.await(iteration->number);
    pipeline_.submit(std::move(*iteration));
  }
  pass_on_products();
}

// What a rank has written in an iteration comes array by array, and is stored in one go.
static std::vector<Publication> gathered(std::vector<Publication> all) {
  std::vector<Publication> made;
  std::map<std::pair<std::int64_t, std::string>, std::size_t> places;
  for (Publication& each : all) {
    const auto [at, is_first] = is_undeclared(each)
                                    ? places.try_emplace({each.iteration, each.source}, made.size())
                                    : std::pair(places.end(), true);
    if (is_first)
      made.push_back(std::move(each));
    else
      replace_with(&made[at->second], std::move(each));
  }
  return made;
}

// What waits for no rank comes to its end whatever the ranks are at: its memory is worth waiting for in each iteration.
void Dispatcher::publish(Publication publication, const Block& block, bool waits) {
  const std::int64_t held_as = waits ? publication.iteration : shm::kNoIteration;
  publication.memory = pins_.pin(held_as, block);
  under_way_.hold(held_as, 1);
  if (waits || !may_store()) return published_.push_back(std::move(publication));
  pipeline_.submit(std::move(publication));
}

// Other ranks may have yet to end the iteration. With values of its parameters, unless they are forgotten.
void Dispatcher::pass_on_products() {
  const bool stores_are_awaited = !pipeline_.is_started() && pipeline_.is_busy();
  if (stores_are_awaited && session_.clients.all_have_attached()) start_stores();
  if (published_.empty()) return;
  const std::int64_t last =
      std::min({session_.iterations.oldest() - 1, session_.iterations.least() - 1,
                session_.of_run.known_until()});
  std::vector<Publication> due;
  std::erase_if(published_, [&](Publication& each) {
    if (each.iteration > last) return false;
    due.push_back(std::move(each));
    return true;
  });
  for (Publication& each : gathered(std::move(due))) {
    if (each.iteration > run_.segment.server_state().done_iteration.load())
      each.parameters = session_.parameters.at(each.iteration);
    pipeline_.submit(std::move(each));
  }
}

void Dispatcher::drop_published(std::int64_t iteration) {
  std::erase_if(published_, [iteration](const Publication& each) {
    return is_undeclared(each) && each.iteration == iteration;
  });
  pipeline_.drop_published(iteration);
  take_returned_blocks();
}

// True when something of it lies on the disk: its files are open as long as the iteration's own
// pins exist.
bool Dispatcher::hold_spilled(Iteration* iteration) const {
  const Spiller::Files files = spiller_.files_of(iteration->number);
  if (files.empty()) return false;
  using Both = std::pair<std::shared_ptr<const void>, Spiller::Files>;
  for (auto& [variable, pin] : iteration->pins) pin = std::make_shared<Both>(std::move(pin), files);
  return true;
}

void Dispatcher::take_results() {
  for (PipelineResult& result : pipeline_.take_results()) take(result);
}

void Dispatcher::take(PipelineResult& result) {
  session_.record.settled(result);
  run_.made_progress();
  switch (result.kind) {
    case PipelineResult::Kind::awaited:
      return under_way_.came(result.iteration);
    case PipelineResult::Kind::iteration:
      tell(session_.events, result);
      return record_done(result);
    case PipelineResult::Kind::opened:
      return stores_opened(result);
    case PipelineResult::Kind::late:
      tell(session_.events, result);
      return record_late(result);
    case PipelineResult::Kind::products:
      return;
    case PipelineResult::Kind::closed:
      state_ = State::closed;
      return;
  }
}

// Who is not open reduces nothing in this run: nobody need ask for it each time.
void Dispatcher::leave_reductions(const PipelineResult& opened) {
  for (std::uint32_t i = 0; i < opened.outcomes.size() && !run_.facts.has_all_ranks(); ++i) {
    for (std::uint32_t step = 0; step < kMostReductionSteps && !opened.outcomes[i].error.empty();
         ++step)
      session_.reductions.contribute({channel_of_store(i, step), INT64_MAX}, comm::Columns(),
                                     nullptr);
  }
}

void Dispatcher::stores_opened(const PipelineResult& result) {
  state_ = State::open;
  leave_reductions(result);
  if (!run_.facts.drained) return;
  for (const StoreOutcome& outcome : result.outcomes) {
    if (!outcome.error.empty()) given_up_ = "store \"" + outcome.store + "\": " + outcome.error;
  }
  if (given_up_.empty()) return;
  const std::string& session = run_.facts.session;
  run_.log->error("what session {} has in memory stays there: {}; `leat recover {}` tries again",
                  session, given_up_, session);
  state_ = State::closed;
}

// The iteration's blocks are still held by the result: a server that takes over either finds them,
// or these words.
void Dispatcher::record_done(const PipelineResult& result) noexcept {
  const shm::Segment& segment = run_.segment;
  for (const auto& store : pipeline_.stores()) {
    store->settled(result.iteration);
    if (store->plugin().may_skip()) pipeline_.queue().nudge();  // it may leave more out now
  }
  segment.server_state().done_iteration.store(result.iteration);
  segment.server_state().fruitless.store(0, std::memory_order_relaxed);
  session_.record.report(session_.parameters.forget(result.iteration));
  session_.signals.forget(result.iteration);
  spiller_.forget(result.iteration);
}

void Dispatcher::record_late(const PipelineResult& result) noexcept {
  for (const auto& store : pipeline_.stores()) {
    const auto is_its = [&](const StoreOutcome& late) {
      return late.store == store->plugin().store();
    };
    if (std::any_of(result.outcomes.begin(), result.outcomes.end(), is_its) ||
        std::any_of(result.products.begin(), result.products.end(), is_its))
      store->settled_late(result.iteration);
  }
}

void Dispatcher::take_returned_blocks() {
  for (const Returned& returned : pins_.take_returned()) {
    under_way_.release(returned.iteration);
    for (const Block& block : returned.blocks) session_.memory.release(block);
    run_.made_progress();
  }
}

// The ledger that the stores keep knows of all that came before.
bool Dispatcher::is_idle() const {
  return may_store() && session_.iterations.oldest() >= session_.iterations.least() &&
         !anything_held() && scripts_.idle() && !pipeline_.is_busy();
}

// From the plugin's thread; the outcome comes in the engine's.
void Dispatcher::reduce(std::uint32_t store,
                        const std::shared_ptr<const PluginReduction>& reduction) {
  pipeline_.expect();
  const auto step = static_cast<std::uint32_t>(reduction->round.channel);
  session_.reductions.contribute(
      {channel_of_store(store, step), reduction->round.number},
      [reduction](comm::Rank self) { return of_server(reduction->columns, self); },
      [this, store, reduction](const comm::Outcome& outcome) {
        PluginInstance& plugin = pipeline_.stores()[store]->plugin();
        const comm::Rank self = session_.rounds.self(), servers = session_.rounds.size();
        pipeline_.deliver(
            {store, reduction->iteration(), [&plugin, reduction, self, servers, outcome] {
               return plugin.reduced(*reduction, outcome, self, servers);
             }});
        run_.made_progress();
      });
}

// From the pipeline's thread. Ranks whose memory is full wait for it, and have more patience; who is silent for half of that is
// not waited for.
std::optional<OverRun::Outcome> Dispatcher::reduce_derived(
    const comm::Round& round, std::function<comm::Columns(comm::Rank)> columns) {
  const auto awaited = std::make_shared<AwaitedOutcome>();
  session_.reductions.contribute(
      round, std::move(columns),
      [awaited](const comm::Outcome& outcome) { awaited->came(outcome); });
  constexpr double kPart = 0.75;
  const double seconds = run_.model.architecture.timeout_seconds * kPart;
  const std::optional<comm::Outcome> outcome =
      awaited->await(os::now_ns() + static_cast<std::int64_t>(seconds * 1e9),
                     [this] { return is_abandoned_.load(); });
  const Reductions::Place place = session_.reductions.place().value_or(Reductions::Place());
  // Of servers that are alone, or have not met, two would have two values of the run; a later round says that this one is over.
  const bool is_of_others = outcome && outcome->epoch >= 0 && place.servers > 1;
  if (!is_of_others || !(outcome->round == round)) return std::nullopt;
  return OverRun::Outcome{outcome->columns, place.self, place.servers,
                          static_cast<comm::Rank>(outcome->of.count())};
}

bool Dispatcher::may_reduce(std::uint64_t channel, std::int64_t first, std::int64_t last) const {
  if (last >= std::min(session_.iterations.oldest(), session_.iterations.least())) return true;
  if (const std::optional<std::uint32_t> store = store_of(channel))
    return pipeline_.may_reduce(*store, first, last);
  return pipeline_.queue().has(first, last) || scripts_.may_reduce(channel, first, last);
}

std::int64_t Dispatcher::last_reduced() const noexcept {
  const shm::ServerState& words = run_.segment.server_state();
  const std::int64_t pending = words.scripts_pending.load();  // 1 + the oldest
  const std::int64_t done = words.done_iteration.load();
  return pending == 0 ? done : std::min(done, pending - 2);
}

std::vector<SteeringRequest> Dispatcher::take_steering() {
  std::vector<SteeringRequest> all = scripts_.take_steering();
  for (const std::unique_ptr<StoreNode>& store : pipeline_.stores())
    for (SteeringRequest& each : store->plugin().host().take_steering())
      all.push_back(std::move(each));
  return all;
}

// Without a rank there is nothing to store, and what lies under the names of the output is not this
// server's: another one of the run may have written it.
void Dispatcher::close() {
  if (!pipeline_.is_started() && session_.clients.none_has_come()) {
    run_.log->warn("no rank of the simulation connected to this server: it writes no file");
    state_ = State::closed;
    return;
  }
  start_stores();
  session_.record.publish(scripts_.fates());
  pipeline_.close();
}

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
  if (finished <= finished_ || finished < session_.iterations.first()) return;
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
