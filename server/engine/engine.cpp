// SPDX-License-Identifier: Apache-2.0
#include "server/engine/engine.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/os/clock.hpp"
#include "lib/shm/handshake.hpp"
#include "server/state/group/connect.hpp"

namespace leat::server {
namespace {

// Time-dependent things are looked at this often while there is always something to do, and so
// often while there is something to wait for.
constexpr std::int64_t kTickNs = 10'000'000;
// To take leave of the other servers of the run.
constexpr std::int64_t kLeaveNs = 2'000'000'000, kHearNs = 10'000'000'000;
constexpr std::int64_t kWaitTickNs = 500'000'000, kReportTickNs = 100'000'000;

// For the log. No script has a '/' in its name; a store is "store/<name>".
std::string title_of(const std::string& who) {
  return who.find('/') == std::string::npos ? "script \"" + who + "\"" : who;
}

std::function<void()> wake_of(Host& host) {
  return [&host] { host.wake(); };
}

}  // namespace

Engine::Engine(EngineParts parts)
    : session_({parts.model, parts.segment, std::move(parts.facts), std::move(parts.log),
                parts.executor, std::move(parts.folder), 0, std::move(parts.trace)},
               parts.journal_path, wake_of(parts.host)),
      dispatcher_(session_, {std::move(parts.plugins), parts.spill_folder, std::move(parts.drains),
                             parts.lent_threads, parts.check_overlaps, wake_of(parts.host),
                             std::move(parts.derivation)}),
      beginning_(session_),
      failover_(session_, dispatcher_, beginning_),
      overflow_(session_, dispatcher_),
      placing_(session_, dispatcher_, parts.host),
      attachment_(session_, dispatcher_, overflow_, failover_, placing_, parts.host,
                  parts.late_ranks_path),
      events_(session_, dispatcher_, overflow_, attachment_, beginning_),
      absence_(session_, dispatcher_, overflow_, attachment_, placing_),
      ending_(session_, dispatcher_, attachment_, events_, parts.host),
      control_(session_, dispatcher_),
      settling_(session_, dispatcher_),
      traced_(session_, dispatcher_),
      wake_(wake_of(parts.host)),
      has_memory_(parts.has_memory) {
  session_.joining.begin(std::move(parts.joining));
  if (session_.run.facts.resumed) recover_old_run(parts.journal_path);
}

void Engine::recover_old_run(const std::string& journal_path) {
  failover_.take_over(journal_path);
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i) {
    if (session_.clients[i].is_gone())
      attachment_.forget(i, session_.clients[i].phase() != ClientLink::Phase::finalized);
  }
  if (shm::is_drained(session_.run.segment.server_state())) ending_.cut_off_clients();
  if (!session_.run.facts.drained) return;
  session_.record.ledger().begin_drain();
  ending_.end_clients();
}

void Engine::open_ledger() {
  const RunFacts& facts = session_.run.facts;
  if (facts.has_all_ranks() || facts.resumed || facts.drained) session_.record.open();
}

void Engine::start() {
  traced_.start();
  dispatcher_.start();
  session_.run_steering.start();
  session_.reductions.look_who_is_there();
  if (session_.run.facts.drained || has_memory_) return;
  session_.memory.start_prefaulting();
  if (!placing_.has_memory_nodes()) session_.memory.prefault_in_background();
}

bool Engine::step(std::int64_t now_ns) {
  session_.run.now_ns = now_ns;
  const bool busy = events_.take_all() || has_news();
  dispatcher_.spiller().take_written(
      [this](const SpillRecord& record) { return session_.journal.append(record); });
  failover_.tend_journal();
  join_others();
  take_outcomes();
  dispatcher_.take_results();
  session_.record.update();
  session_.memory.take_prefaulted();
  dispatcher_.take_returned_blocks();
  steer_as_asked();
  overflow_.serve();
  dispatcher_.pipeline().queue().press(somebody_waits());
  tend_scripts();
  dispatcher_.pass_on_complete();
  ending_.close_when_drained();
  settling_.step();
  if (now_ns - ticked_ns_ >= kTickNs) tick();
  traced_.stepped(now_ns, busy);
  return busy || session_.rounds.has_news();
}

// What other servers have dropped goes before it could be passed on. What the next server, should this one die, asks for
// anew stays.
void Engine::take_outcomes() {
  session_.turns.look_who_is_there();
  const bool any = session_.rounds.advance();
  session_.reductions.advance(session_.rounds.take_awaited(),
                              [this](std::uint64_t channel, std::int64_t first, std::int64_t last) {
                                return dispatcher_.may_reduce(channel, first, last);
                              });
  session_.turns.advance();
  for (const auto& [iteration, why] : session_.of_run.take_drops())
    overflow_.drop_open(iteration, why);
  if (!any) return;
  session_.rounds.forget(dispatcher_.last_reduced());
  ending_.warn_of_run();
}

void Engine::join_others() {
  if (std::optional<Joining::Met> met = session_.joining.take_met()) meet(std::move(*met));
}

// Which servers the run has, or why this one goes on without the others. Once.
void Engine::meet(Joining::Met met) {
  const comm::Meeting& meeting = met.meeting;
  std::vector<std::string> names;
  for (const comm::Card& each : meeting.cards) names.push_back(each.name);
  ConnectParts parts;
  parts.folder = session_.joining.folder();
  parts.listening = session_.joining.take_listening();
  parts.resume = session_.rounds.resume();
  if (meeting.size() < 2) {
    parts.why_alone = met.why;
  } else {
    parts.carrier = carrier_of(session_.run.model.architecture.network.carrier, meeting);
    session_.run.log->info(
        "this is server {} of the {} of the run, which have met {} (of {}); they reach each other "
        "by "
        "{}",
        meeting.self, meeting.size(), met.why,
        joined({names.begin(),
                names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNamed))},
               ", "),
        parts.carrier == model::Carrier::tcp
            ? "TCP, at port " +
                  std::to_string(meeting.cards[static_cast<std::size_t>(meeting.self)].port)
            : "the folder " + parts.folder);
  }
  if (meeting.size() > 1)
    session_.reductions.set_contact(
        {meeting.credential, meeting.cards[static_cast<std::size_t>(meeting.self)].addresses});
  parts.meeting = std::move(met.meeting);
  session_.rounds.begin(connect(session_.run, std::move(parts), wake_), std::move(names));
}

// Ranks that have yet to come may be the lowest ones. Where none comes any more, there is nothing to meet others for.
void Engine::look_whether_ranks_are_here() {
  std::int32_t lowest = INT32_MAX;
  for (const ClientLink& each : session_.clients) {
    if (each.is_gone() && each.never_came()) continue;
    if (each.rank() < 0 || each.never_came()) return;
    lowest = std::min(lowest, each.rank());
  }
  if (lowest == INT32_MAX) return session_.joining.no_rank_comes();
  session_.joining.ranks_are_here(lowest);
}

void Engine::tick() {
  ticked_ns_ = session_.run.now_ns;
  attachment_.log_reports(false);
  if (session_.joining.is_waiting()) look_whether_ranks_are_here();
  if (!ending_.is_closing()) absence_.look();
  if (session_.run.facts.resumed) look_for_dead_among_away();
  if (ending_.awaits_drains()) ending_.tend_drains();
  // Scripts have time limits of their own: as long as they run, something gets done.
  if (dispatcher_.scripts().exists() && !dispatcher_.scripts().idle()) session_.run.made_progress();
  overflow_.log_who_waits();
  placing_.look();
  control_.tick();
  session_.reductions.look_who_is_there();
}

std::int64_t Engine::next_deadline_ns() const noexcept {
  if (attachment_.has_reports() || placing_.is_waiting()) return ticked_ns_ + kReportTickNs;
  const bool soon = !session_.clients.all_are_here() || somebody_waits() ||
                    session_.record.is_behind() || ending_.awaits_drains() ||
                    session_.joining.is_waiting();
  return soon ? ticked_ns_ + kWaitTickNs : kNever;
}

// A client that has yet to come back may compute for hours; whether it lives is seen by its lock.
void Engine::look_for_dead_among_away() {
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i) {
    if (session_.clients[i].is_awaited() && !session_.clients[i].lives()) events_.hung_up(i);
  }
}

void Engine::tend_scripts() {
  ScriptPool& scripts = dispatcher_.scripts();
  if (!scripts.exists()) return;
  const std::int64_t now_ns = session_.run.now_ns;
  if (!somebody_waits()) waits_since_ns_ = now_ns;
  const bool waits_long = now_ns - waits_since_ns_ > session_.run.timeout_ns() / 2;
  if (somebody_waits() && (waits_long || !scripts.are_new())) scripts.let_go_for_memory();
  session_.record.scripts_fared(scripts.trouble(), [&scripts] { return scripts.fates(); });
}

void Engine::steer_as_asked() {
  for (const SteeringRequest& request : dispatcher_.take_steering()) {
    const std::string why =
        request.is_event ? session_.signals.request(request.parameter) : session_.steer(request);
    if (why.empty() || !refused_.insert(request.who + '\n' + why).second) continue;
    const bool too_late = session_.clients.all_gone();  // as in the last iterations of a good run
    session_.run.log->log(too_late ? LogLevel::info : LogLevel::error, "{}, ctx.{}: {}",
                          title_of(request.who), request.is_event ? "signal" : "set", why);
  }
  for (const AuditEntry& entry : session_.parameters.advance()) {
    session_.run.log->info(
        "{} steers {} from {} to {}, from iteration {} on{}", title_of(entry.who), entry.parameter,
        entry.old_value.empty() ? "no value" : entry.old_value, entry.new_value, entry.iteration,
        entry.simulation_sets_it
            ? ", until the simulation sets it itself, as it does in each iteration"
            : "");
    dispatcher_.scripts().record_steering(entry);
    session_.events.add({.kind = IterationEvent::Kind::steered,
                         .iteration = entry.iteration,
                         .subject = entry.parameter,
                         .text = entry.new_value,
                         .who = entry.who,
                         .is_set_too = entry.simulation_sets_it});
  }
}

std::optional<std::uint32_t> Engine::hello(std::int64_t now_ns, const shm::Hello& hello,
                                           std::unique_ptr<shm::ToClient> connection) {
  session_.run.now_ns = now_ns;
  const auto client = attachment_.hello(hello, std::move(connection));
  if (client && session_.ranks_traced)
    session_.ranks_traced->came(*client, session_.clients[*client].rank(), now_ns);
  if (session_.joining.is_waiting()) look_whether_ranks_are_here();
  return client;
}

void Engine::message(std::int64_t now_ns, std::uint32_t client) {
  session_.run.now_ns = now_ns;
  if (!attachment_.take_reports(client)) events_.hung_up(client);
}

void Engine::drain(std::int64_t now_ns, const std::string& who) {
  session_.run.now_ns = now_ns;
  session_.run.log->warn("shutdown requested by {}: writing all data received so far, then exiting",
                         who);
  shm::order_to_drain(session_.run.segment.server_state(), who);
  ending_.cut_off_clients();
}

void Engine::abandon_scripts() {
  if (!dispatcher_.scripts().idle()) dispatcher_.scripts().abandon();
}

int Engine::finish(std::int64_t now_ns) {
  session_.run.now_ns = now_ns;
  traced_.finish();  // whole when ranks hear that all is stored
  if (why_given_up().empty()) {
    ending_.report_drained();
    leave_run();
    session_.joining.stop();
  }
  return ending_.exit_status();
}

// All ranks have their last word. Others go on without this server at once, instead of missing it for a while. The first one has to
// have heard of all before it leaves, since it writes what became of the whole run.
void Engine::leave_run() {
  if (session_.run.facts.has_all_ranks() || session_.run.facts.drained) return;
  RunRounds& rounds = session_.rounds;
  const auto wait_at_most = [&](std::int64_t ns, const auto& is_there) {
    const os::Deadline deadline = os::Deadline::in_ns(ns);
    while (!is_there() && !deadline.passed()) {
      rounds.advance();
      session_.reductions.end(rounds.take_awaited());  // others may reduce yet
      os::pause_shortly();
    }
    rounds.advance();
  };
  const bool is_first = rounds.has_begun() && rounds.self() == 0;
  session_.run_status.end(control_.row());
  if (is_first) wait_at_most(kHearNs, [this] { return !session_.run_status.ends().empty(); });
  rounds.leave();
  wait_at_most(kLeaveNs, [&rounds] { return rounds.has_left(); });
  if (!is_first || session_.run_status.ends().empty()) return;
  const std::string why = session_.record.write_beside("run", control_.account_of_run() + "\n");
  if (!why.empty()) session_.run.log->warn("what became of the whole run is not written: {}", why);
}

EngineStatus Engine::status() const noexcept {
  return {session_.clients.all_gone(), !session_.iterations.empty(), dispatcher_.is_at_work(),
          session_.memory.regions().used_bytes()};
}

}  // namespace leat::server
