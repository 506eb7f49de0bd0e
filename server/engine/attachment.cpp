// SPDX-License-Identifier: Apache-2.0
#include "server/engine/attachment.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/node/placement.hpp"
#include "server/engine/beginning.hpp"

namespace leat::server {
namespace {

using Phase = ClientLink::Phase;

// Then the others get their turn.
constexpr int kMostAtOnce = 64;

std::string rank_of_node(const shm::Hello& hello) {
  return "rank " + std::to_string(hello.node_rank) + " of this node ";
}

// "rank 3", "ranks 3, 5"
std::string named(const std::set<std::int32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (const std::int32_t rank : ranks)
    text += (rank == *ranks.begin() ? "" : ", ") + std::to_string(rank);
  return text;
}

constexpr const char* kOtherNames = ": give the two runs different LEAT_SESSION names";

std::int32_t whose_rank(const shm::Hello& hello, const RunFacts& facts) {
  return node::server_of(hello.node_rank, facts.node_ranks + facts.others_on_node, facts.servers);
}

// Of one of its ranks.
std::uint32_t place_among_own(const shm::Hello& hello, const RunFacts& facts) {
  return static_cast<std::uint32_t>(hello.node_rank - facts.first_on_node);
}

shm::Welcome welcome_of(const shm::Hello& hello, const std::string& refusal, const Run& run) {
  shm::Welcome welcome{};
  welcome.magic = shm::kMagic;
  welcome.version = shm::kLayoutVersion;
  welcome.status =
      static_cast<std::int32_t>(refusal.empty()                        ? Status::OK
                                : hello.version == shm::kLayoutVersion ? Status::ERROR_STATE
                                                                       : Status::ERROR_VERSION);
  refusal.copy(welcome.message, sizeof welcome.message - 1);
  if (!refusal.empty()) return welcome;
  welcome.server = whose_rank(hello, run.facts);
  welcome.place = static_cast<std::int32_t>(place_among_own(hello, run.facts));
  run.segment.name().copy(welcome.segment, sizeof welcome.segment - 1);
  return welcome;
}

}  // namespace

Attachment::Attachment(SessionState& session, Dispatcher& dispatcher, Overflow& overflow,
                       Failover& failover, Placing& placing, Host& host, std::string late_ranks)
    : session_(session),
      dispatcher_(dispatcher),
      overflow_(overflow),
      failover_(failover),
      placing_(placing),
      host_(host),
      reports_(session.run.model, session.clients.size()),
      late_path_(std::move(late_ranks)),
      late_ranks_(node::LateRanks::read(late_path_)) {}

std::string Attachment::why_refused(const shm::Hello& hello) const {
  const RunFacts& facts = session_.run.facts;
  if (hello.magic != shm::kMagic || hello.version != shm::kLayoutVersion) {
    return "leatd has segment layout version " + std::to_string(shm::kLayoutVersion) +
           ", the client library has version " + std::to_string(hello.version) +
           ": use libleat and leatd of one Leat";
  }
  const std::int32_t on_node = facts.node_ranks + facts.others_on_node;
  if (hello.node_size != on_node || hello.size != facts.ranks || hello.node_rank < 0 ||
      hello.node_rank >= on_node) {
    return "rank " + std::to_string(hello.node_rank) + " of " + std::to_string(hello.node_size) +
           " on its node does not fit into session " + facts.session + ", which has " +
           std::to_string(on_node) + " ranks on this node" + kOtherNames;
  }
  if (whose_rank(hello, facts) != facts.server)  // it is told where to go
    return hello.resumed ? ""
                         : late_ranks_.why_too_late(facts.session, hello.node_rank, hello.since_ns);
  const ClientLink& client = session_.clients[place_among_own(hello, facts)];
  if (!hello.resumed) return why_too_late(hello);
  if (hello.segment != session_.run.segment.name()) {
    return rank_of_node(hello) + "was part of another run of this name, with segment " +
           std::string(hello.segment) + ", not of session " + facts.session +
           " as it is now, with segment " + session_.run.segment.name() + kOtherNames;
  }
  // Absent: the server before this one was killed between its welcome and its note of that.
  if (client.is_away() || client.phase() == Phase::absent) return "";
  return rank_of_node(hello) + "is no part of session " + facts.session +
         " any more: its server was asked to shut down, or took the rank for dead";
}

std::string Attachment::why_too_late(const shm::Hello& hello) const {
  const std::string& session = session_.run.facts.session;
  const ClientLink& client = session_.clients[place_among_own(hello, session_.run.facts)];
  if (std::string late = late_ranks_.why_too_late(session, hello.node_rank, hello.since_ns);
      !late.empty()) {
    return late;
  }
  if (client.is_gone() && client.never_came()) {
    return rank_of_node(hello) + "came too late for session " + session +
           ": the others had waited for it for the timeout of <buffer>, and go on without it; "
           "nothing of this rank is stored";
  }
  if (client.phase() == Phase::absent) return "";
  return rank_of_node(hello) + "is already part of session " + session + kOtherNames;
}

std::optional<std::uint32_t> Attachment::hello(shm::Hello hello,
                                               std::unique_ptr<shm::ToClient> connection) {
  hello.segment[sizeof hello.segment - 1] = 0;
  const std::string refusal = why_refused(hello);
  if (refusal.empty()) {
    const bool is_own = whose_rank(hello, session_.run.facts) == session_.run.facts.server;
    is_own ? session_.record.open() : other_came(hello);
  }
  shm::Welcome welcome = welcome_of(hello, refusal, session_.run);
  if (refusal.empty() && welcome.server == session_.run.facts.server)
    session_.joining.greet(hello, &welcome);
  const bool is_there = connection->welcome(welcome);
  if (!refusal.empty()) session_.run.log->warn("refused a client (pid {}): {}", hello.pid, refusal);
  if (!is_there || !refusal.empty() ||
      whose_rank(hello, session_.run.facts) != session_.run.facts.server)
    return {};
  const std::uint32_t place = place_among_own(hello, session_.run.facts);
  hello.node_rank = static_cast<std::int32_t>(place);
  take(session_.clients[place], hello, std::move(connection));
  return place;
}

// Noted before it is told where to go: a server that takes over does not wait for it.
void Attachment::other_came(const shm::Hello& hello) {
  if (session_.clients.others_expected().count(hello.node_rank) == 0) return;
  session_.journal.append(OtherRanksCame{{hello.node_rank}});
  session_.clients.other_came(hello.node_rank);
}

void Attachment::take(ClientLink& client, const shm::Hello& hello,
                      std::unique_ptr<shm::ToClient> connection) {
  if (client.is_away()) {
    failover_.come_back(hello, std::move(connection));
    session_.record.rank_came();
    if (client.is_gone()) return;
    placing_.place_when_known();
    return overflow_.serve();
  }
  client.attach(hello, std::move(connection));
  client.save(0);
  session_.record.rank_came();
  if (!session_.clients.all_have_attached()) return;
  placing_.place_when_known();
  dispatcher_.start_stores();
}

bool Attachment::take_reports(std::uint32_t index) {
  ClientLink& client = session_.clients[index];
  for (int i = 0; i < kMostAtOnce && client.connection(); ++i) {
    shm::Report report{};
    std::string offers;
    switch (client.connection()->take(&report, &offers)) {
      case shm::ToClient::Received::message:
        if (report.number == shm::kIntroduction)
          session_.joining.take_offers(offers);
        else
          reports_.take(index, client.rank(), report, session_.run.now_ns);
        break;
      case shm::ToClient::Received::nothing:
        return true;
      case shm::ToClient::Received::closed:
        return false;
    }
  }
  return true;
}

std::string Attachment::why(std::uint32_t index, std::uint32_t number) {
  if (number != 0 && reports_.why(index, number).empty())
    (void)take_reports(index);  // it has come before the event
  return reports_.why(index, number);
}

// In the log, and to the user where that is a file: those who look at neither look there.
void Attachment::log_reports(bool all) {
  if (!reports_.has_waiting()) return;
  const bool log_is_seen =
      session_.run.model.log.file.empty() && session_.run.log->shows(LogLevel::error);
  for (const ReportBook::Line& line : reports_.take_due(session_.run.now_ns, all)) {
    session_.run.log->log(line.level, "{}", line.text);
    if (line.level == LogLevel::error && !log_is_seen) host_.tell_user(line.text);
  }
}

void Attachment::left(std::uint32_t index, Phase how) {
  ClientLink& client = session_.clients[index];
  const std::int64_t current = session_.iterations.current(index);
  Incidents& incidents = session_.record.ledger().incidents();
  client.leave(how);
  count_untold(index);
  if (how == Phase::dead) {
    reports_.died(client.rank(), current, session_.run.now_ns);
    incidents.client_died(client.rank(), current);
  } else if (how == Phase::cut_off) {
    incidents.client_cut_off(client.rank(), current,
                             session_.run.segment.server_state().drained_by);
  }
  forget(index, how != Phase::finalized);
  if (session_.ranks_traced)
    session_.ranks_traced->gone(index, client.rank(), how == Phase::dead, session_.run.now_ns);
  session_.run.made_progress();
  overflow_.serve();
}

// What a client was refused, and could not say before it ended: its ring was full.
void Attachment::count_untold(std::uint32_t index) {
  const std::uint64_t untold = session_.clients[index].take_untold();
  if (untold == 0) return;
  const std::int32_t rank = session_.clients[index].rank();
  const std::int64_t current = session_.iterations.current(index);
  session_.run.log->error(
      "rank {}: {} failed, from iteration {} on; it ended before it could say "
      "which",
      rank, counted(untold, "more write"), current);
  session_.record.ledger().write_failed(
      rank, Ledger::kUntold, current,
      "from this iteration on; the rank ended before it could say which", 0, untold);
}

void Attachment::never_came(std::uint32_t index) {
  session_.run.log->warn(
      "{} did not connect while the other ranks waited for it: continuing without it",
      session_.clients.name_of(index));
  session_.clients[index].leave(Phase::dead);
  session_.clients[index].save(0);
  session_.record.ledger().incidents().client_never_came(number_on_node(index));
  forget(index, true);
}

void Attachment::others_never_came() {
  if (!session_.clients.any_other_expected()) return;
  session_.run.log->warn(
      "{} of this node, which other servers of the node serve, did not connect while the other "
      "ranks waited: continuing without",
      named(session_.clients.others_expected()));
  for (const std::int32_t rank : session_.clients.others_expected())
    session_.record.ledger().incidents().client_never_came(rank);
  session_.clients.give_up_others();
}

void Attachment::forget(std::uint32_t index, bool died) {
  session_.parameters.client_gone(index, session_.iterations.current(index));
  session_.iterations.gone(index, died);
  close_before_first(session_);
  session_.memory.client_gone(index);
}

void Attachment::write_late_ranks() const {
  std::vector<std::int32_t> ranks;
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i) {
    if (session_.clients[i].never_came()) ranks.push_back(number_on_node(i));
  }
  ranks.insert(ranks.end(), session_.clients.others_expected().begin(),
               session_.clients.others_expected().end());
  if (ranks.empty() || late_path_.empty()) return;
  node::LateRanks late = late_ranks_;
  late.note(late_path_, ranks);
}

namespace {

using Phase = ClientLink::Phase;

// A process may take that long to start on a busy machine, whatever the timeout is.
constexpr std::int64_t kLeastNs = 2'000'000'000;
// Time between two looks counts up to here: there may be none for long.
constexpr std::int64_t kMostBetweenNs = 1'000'000'000;

}  // namespace

Absence::Absence(SessionState& session, Dispatcher& dispatcher, Overflow& overflow,
                 Attachment& attachment, Placing& placing)
    : session_(session),
      dispatcher_(dispatcher),
      overflow_(overflow),
      attachment_(attachment),
      placing_(placing) {}

bool Absence::any_expected() const noexcept {
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i) {
    if (session_.clients.is_expected(i)) return true;
  }
  return session_.clients.any_other_expected();
}

// Nobody else is left; or a rank waits for memory that nothing else will free.
bool Absence::hurts() const {
  const bool anybody =
      std::any_of(session_.clients.begin(), session_.clients.end(), [](const ClientLink& c) {
        return c.phase() == Phase::attached || (c.phase() == Phase::absent && c.lives());
      });
  // Ranks of the same job come when they have prepared what they compute.
  if (!anybody && session_.run.facts.ranks_are_sure && session_.clients.none_has_come())
    return false;
  if (!anybody || overflow_.refused_for_absent() || ends_are_waited_for()) return true;
  const LeaseRequest* const unmet = session_.memory.requests().first_unmet();
  return unmet && !dispatcher_.anything_read() && !dispatcher_.pipeline().queue().first_number() &&
         overflow_.is_expected_before(unmet->iteration);
}

// A rank that has ended an iteration waits until all have, those too that have yet to come.
bool Absence::ends_are_waited_for() const noexcept {
  const shm::ServerState& words = session_.run.segment.server_state();
  const auto waits = static_cast<shm::Synchronous>(session_.run.segment.header().synchronous);
  if (waits == shm::Synchronous::no) return false;
  if (waits == shm::Synchronous::unless_overlaps && words.overlaps.load() != 0) return false;
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i) {
    if (session_.clients[i].phase() == Phase::attached &&
        session_.iterations.current(i) > session_.iterations.first_of(i).value_or(0))
      return true;
  }
  return false;
}

// Less than the timeout, so that who waits gets its memory.
std::int64_t Absence::limit_ns() const noexcept {
  return std::max(kLeastNs, session_.run.timeout_ns() / 4 * 3);
}

void Absence::look() {
  if (!any_expected()) return;
  const std::int64_t before = std::exchange(seen_ns_, hurts() ? session_.run.now_ns : 0);
  if (seen_ns_ == 0) return;
  if (before != 0) hurt_ns_ += std::min(session_.run.now_ns - before, kMostBetweenNs);
  // Whoever waits for the end of the run sees that it comes.
  if (hurt_ns_ < limit_ns()) return session_.run.made_progress();
  for (std::uint32_t i = 0; i < session_.clients.size(); ++i) {
    if (session_.clients.is_expected(i)) attachment_.never_came(i);
  }
  attachment_.others_never_came();
  placing_.place_when_known();
  session_.run.made_progress();
  overflow_.serve();
}

}  // namespace leat::server
