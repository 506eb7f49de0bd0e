// SPDX-License-Identifier: Apache-2.0
#include "server/engine/ending.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/table.hpp"
#include "lib/base/text.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/memory.hpp"
#include "server/engine/run_report.hpp"
#include "server/state/ledger/loss_table.hpp"

namespace leat::server {
namespace {

using Phase = ClientLink::Phase;

// Leaves room in what a client keeps of its last error for what it says itself.
constexpr std::size_t kMostReport = 3000;
constexpr std::size_t kMostInLastLine = 200;
constexpr int kExitLost = 1, kExitProblems = 3;

}  // namespace

Ending::Ending(SessionState& session, Dispatcher& dispatcher, Attachment& attachment,
               Events& events, Host& host)
    : session_(session),
      dispatcher_(dispatcher),
      attachment_(attachment),
      events_(events),
      host_(host) {}

void Ending::end_clients() { end_each(&Events::hung_up); }

void Ending::cut_off_clients() { end_each(&Events::cut_off); }

void Ending::end_each(void (Events::*end)(std::uint32_t)) {
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i) {
    const Phase phase = session_.clients[i].phase();
    if (phase == Phase::attached) (events_.*end)(i);
    if (phase == Phase::absent) attachment_.never_came(i);
  }
  attachment_.others_never_came();
}

void Ending::close_when_drained() {
  if (closing_ || !session_.clients.all_gone() || session_.clients.any_other_expected() ||
      !session_.of_run.is_settled() || !dispatcher_.is_idle())
    return;
  // Those that wait for the last word would be told by the end of their connection that it never
  // comes.
  if (session_.run.facts.resumed && session_.clients.any_away()) return;
  if (!dispatcher_.scripts().end_executions()) return;
  closing_ = true;
  count_late();  // stores say in their files how much is lost
  warn_of_missing_events();
  session_.memory.stop_prefaulting();
  dispatcher_.close();
}

void Ending::count_late() {
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i)
    if (session_.clients[i].phase() == Phase::cut_off) events_.count_late(i);
}

void Ending::warn_of_missing_events() {
  warn_of_run();
  warn("steering", session_.run_steering.undecided());
  warn(session_.rounds.is_alone() ? Warning::kLostEvents : "events",
       session_.signals.never_happened());
}

void Ending::warn_of_run() {
  session_.of_run.look_whether_alone();
  warn("events", session_.of_run.take_warnings());
  warn(Warning::kLostEvents, session_.of_run.take_lost());
  warn("steering", session_.run_steering.take_warnings());
}

void Ending::warn(const std::string& what, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    session_.run.log->warn("{}", line);
    session_.record.ledger().incidents().warn(what, Warning::kNoVariable, 0, line);
  }
}

void Ending::tend_drains() {
  dispatcher_.drains().report(false);
  const Run& run = session_.run;
  const bool pressed =
      session_.memory.requests().somebody_waits() || session_.clients.all_gone() || is_announced_;
  if (!pressed) pressed_since_ns_ = 0;
  if (pressed && pressed_since_ns_ == 0) pressed_since_ns_ = run.now_ns;
  if (pressed && run.now_ns - pressed_since_ns_ > run.timeout_ns() / 2)
    dispatcher_.drains().hurry();
}

// Of the log: whoever reads nothing else has read how it went.
std::string Ending::last_line() const {
  const Ledger& ledger = session_.record.ledger();
  const std::int64_t ended = session_.iterations.ended_count();
  std::uint64_t bytes = 0;
  for (const auto& store : dispatcher_.pipeline().stores()) bytes += store->plugin().work().bytes;
  const std::uint64_t stored = ledger.iterations().stored(), failed = ledger.iterations().failed(),
                      skipped = ledger.iterations().skipped();
  std::string text = fmt::format("done: {} ended, {} stored ({})",
                                 counted(static_cast<std::uint64_t>(ended), "iteration"), stored,
                                 format_bytes(bytes));
  if (session_.run.facts.resumed) {
    text += " since this server has taken over";
  } else if (const auto others =
                 static_cast<std::int64_t>(stored + skipped + failed + session_.dropped.count());
             others < ended && !ledger.anything_lost()) {
    text += fmt::format(", {} not due in any store", ended - others);
  }
  if (failed > 0) text += fmt::format(", {} NOT STORED", failed);
  if (const std::string dropped = session_.dropped.text(); !dropped.empty()) text += ", " + dropped;
  if (ledger.anything_lost()) return text + ", NOT ALL OF THE DATA IS STORED, see above";
  // What ranks write after the order nobody counts here: they count it themselves.
  text += ledger.incidents().cut_off().empty() ? ", nothing lost" : ", STOPPED BEFORE ITS END";
  for (const std::string& line : problems_of(ledger, false))
    text += "; " + cut(line, kMostInLastLine);
  return text;
}

RunReport Ending::report() const {
  const RunFacts& facts = session_.run.facts;
  const model::Architecture& architecture = session_.run.model.architecture;
  RunReport report;
  report.simulation = session_.run.model.name;
  report.session = facts.session;
  report.run_id = facts.run_id;
  report.ranks = facts.node_ranks;
  report.cores = std::max<std::int64_t>(1, architecture.dedicated_cores / facts.servers);
  report.is_shared = facts.cores_are_shared || architecture.place == model::Place::none;
  report.automatic = architecture.mode == model::EndMode::automatic;
  report.mode = session_.mode.decision();
  // While it tries the other way again, what was decided is the run's.
  const bool overlaps = report.mode ? report.mode->overlaps
                                    : session_.run.segment.server_state().overlaps.load() != 0;
  report.synchronous = session_.run.segment.header().synchronous != 0 && !overlaps;
  report.since_takeover = facts.resumed;
  report.all_went_well = !session_.record.ledger().has_problems();
  report.times = session_.times.figures();
  report.iterations = report.times.intervals + (report.times.intervals > 0 ? 1 : 0);
  const std::int64_t now_ns = os::now_ns();
  report.seconds = static_cast<double>(now_ns - report.times.first_ns) / 1e9 + report.times.seconds;
  if (!facts.in_simulation && !report.is_shared)
    report.server_busy = std::min(1.0, static_cast<double>(os::processor_time_ns()) / 1e9 /
                                           report.seconds / static_cast<double>(report.cores));
  for (const auto& store : dispatcher_.pipeline().stores()) {
    const PluginWork& work = store->plugin().work();
    report.stores.push_back({store->plugin().store(),
                             work.calls.load(),
                             static_cast<double>(work.ns.load()) / 1e9,
                             {},
                             work.user ? std::optional(work.user->use()) : std::nullopt});
  }
  for (const ScriptMetrics& each : dispatcher_.scripts().metrics())
    report.scripts.push_back({each.name, each.fate.calls, each.seconds, each.without_core});
  report.bytes = session_.events.totals().bytes;
  report.buffer_bytes = session_.run.segment.header().data_bytes;
  const auto ends = static_cast<double>(report.iterations * session_.clients.size());
  report.waited_for_memory = static_cast<double>(session_.memory.waited_ns()) / 1e9 / ends;
  report.most_used_bytes = session_.memory.regions().most_used_bytes();
  return report;
}

void Ending::write_report() {
  if (session_.clients.none_has_come()) return;
  const RunReport said = report();
  if (!said.says_something() || session_.run.facts.drained) return;
  for (const std::string& line : lines_of(said)) session_.run.log->debug("{}", line);
  if (const std::string line = advice(said); !line.empty()) session_.run.log->info("{}", line);
  const std::string text =
      json_of(said).dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string why = session_.record.write_beside("report", text + "\n");
  if (!why.empty()) session_.run.log->warn("cannot write the report of this run: {}", why);
}

namespace {

// The log says itself that it is a warning.
std::string without_level(const std::string& problems) {
  for (const std::string_view level : {"warning: ", "warning, "})
    if (problems.starts_with(level)) return problems.substr(level.size());
  return problems;
}

}  // namespace

void Ending::log_the_end() {
  Log& log = *session_.run.log;
  const std::string problems =
      loss_table(session_.record.ledger(), session_.record.name(), kMostReport, false);
  if (!problems.empty()) log.warn("{}", without_level(problems));
  for (const std::string& line : dispatcher_.scripts().report()) log.debug("{}", line);
  if (const std::string line = dispatcher_.scripts().never_looked(); !line.empty())
    log.warn("{}", line);
  if (const std::string line = dispatcher_.spiller().report(); !line.empty()) log.info("{}", line);
  dispatcher_.drains().report(true);
  if (session_.run.facts.drained) log_drained();
  write_report();
  log.info("{}", last_line());
}

// Nobody can attach from here on: a simulation that starts anew finds no server and starts its own.
// A rank of this run finds that it is too late.
void Ending::report_drained() {
  attachment_.write_late_ranks();
  host_.stop_listening();
  count_late();
  attachment_.log_reports(true);
  const std::string problems = session_.record.finish(kMostReport);
  const Ledger& ledger = session_.record.ledger();
  shm::DrainReport report{};
  const bool is_lost = ledger.anything_lost() || ledger.incidents().any_lost_events();
  report.status = static_cast<std::int32_t>(is_lost ? Status::ERROR_LOST : Status::OK);
  report.has_problems = ledger.has_problems();
  problems.copy(report.message, sizeof report.message - 1);
  report.speaks = 1;  // the first of this node that is there to speak
  log_the_end();
  for (ClientLink& client : session_.clients) {
    const bool listens = client.phase() == Phase::finalized || client.phase() == Phase::cut_off;
    if (!listens || !client.connection()) continue;
    if (client.connection()->drained(report)) report.speaks = 0;
  }
}

int Ending::exit_status() const noexcept {
  const Ledger& ledger = session_.record.ledger();
  return ledger.anything_lost() ? kExitLost : ledger.has_problems() ? kExitProblems : 0;
}

void Ending::log_drained() {
  const DrainCount& count = *session_.record.ledger().drained();
  session_.run.log->warn(
      "session {} was killed as a whole; {}, {}, {} that it had in memory {} "
      "stored now",
      session_.run.facts.session, counted(count.iterations, "iteration"),
      counted(count.blocks, "block"), format_bytes(count.bytes),
      session_.record.ledger().anything_lost() ? "are, as far as possible," : "are");
}

std::string Ending::drained() const {
  const Ledger& ledger = session_.record.ledger();
  const DrainCount& count = *ledger.drained();
  const nlohmann::json report{{"session", session_.run.facts.session},
                              {"iterations", count.iterations},
                              {"blocks", count.blocks},
                              {"bytes", count.bytes},
                              {"lost", ledger.lost_writes()},
                              {"ledger", session_.record.name()}};
  return report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace leat::server
