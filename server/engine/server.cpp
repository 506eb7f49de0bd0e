// SPDX-License-Identifier: Apache-2.0
// The loop itself, and its end. Clients coming and going are in server_clients.cpp, events in
// server_events.cpp.
#include "server/engine/server.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "lib/platform/clock.hpp"
#include "lib/platform/local_socket.hpp"
#include "lib/platform/memory.hpp"
#include "server/ledger/amiss.hpp"
#include "server/ledger/loss_table.hpp"
#include "server/ledger/text_table.hpp"

namespace leat::server {
namespace {

// However many events come, clients that arrive or die are seen to this often.
constexpr std::int64_t kLookAroundNs = 1'000'000;
constexpr std::int64_t kFarewellLimitNs = 1'000'000'000;
// Leaves room in what a client keeps of its last error for what it says itself.
constexpr std::size_t kMostFarewell = 3000;
constexpr std::size_t kMostInLastLine = 200;
constexpr int kExitLost = 1, kExitAmiss = 3;

void ring(int eventfd_descriptor) noexcept {
  const std::uint64_t one = 1;
  const ssize_t written = ::write(eventfd_descriptor, &one, sizeof one);
  (void)written;  // a full counter rings as well
}

platform::UniqueFd termination_signals() {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  sigaddset(&mask, SIGINT);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  return platform::UniqueFd(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
}

platform::UniqueFd event_descriptor() {
  return platform::UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

}  // namespace

Server::Server(ServerParts parts)
    : model_(parts.model),
      segment_(parts.segment),
      facts_(std::move(parts.facts)),
      socket_path_(std::move(parts.socket_path)),
      journal_path_(std::move(parts.journal_path)),
      late_ranks_path_(std::move(parts.late_ranks)),
      late_ranks_(platform::LateRanks::read(late_ranks_path_)),
      machine_(std::move(parts.machine)),
      log_(std::move(parts.log)),
      listener_(std::move(parts.listener)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      doorbell_(event_descriptor()),
      results_bell_(event_descriptor()),
      signals_(termination_signals()),
      iterations_(static_cast<std::uint32_t>(facts_.node_ranks)),
      lease_table_(segment_),
      leases_(segment_.header(), static_cast<std::uint32_t>(facts_.node_ranks), &lease_table_),
      offers_(segment_, leases_),
      populator_([this](shm::Extent slice) { return take_memory(slice); },
                 [bell = results_bell_.get()] { ring(bell); }),
      steering_(model_, segment_),
      ledger_(names_of(model_, facts_)),
      ledger_file_(ledger_.names()),
      pipeline_(std::move(parts.plugins), segment_.stores(), [this] { ring(results_bell_.get()); }),
      spiller_(spiller_parts(parts.spill_folder), pipeline_),
      holds_([bell = results_bell_.get()] { ring(bell); }),
      reports_(model_, static_cast<std::uint32_t>(facts_.node_ranks)),
      scripts_(script_parts()),
      parameters_(model_),
      journal_(journal_path_),
      drains_(std::move(parts.drains)) {
  if (!drains_) drains_ = std::make_shared<Drains>(std::vector<platform::UndrainedOne>(), log_);
  for (std::int32_t i = 0; i < facts_.node_ranks; ++i) {
    clients_.emplace_back(segment_, static_cast<std::uint32_t>(i), model_);
    if (facts_.ranks == facts_.node_ranks) clients_.back().expect(i);
  }
  for (const auto& plugin : pipeline_.plugins()) {
    plugin->show_ledger([this] { return ledger_file_.text(); });
    plugin->report_progress([this] { made_progress(); });
  }
  ledger_.persist_with([this](const std::string& line) { note_loss(line); });
  pipeline_.check_with(model_, checks_wanted());
  if (facts_.resumed) take_over();
  if (facts_.drained) end_all_clients();
}

// Of a run on several nodes nobody has all blocks in hand.
ArrayChecks::Wanted Server::checks_wanted() const {
  const char* overlaps = std::getenv("LEAT_CHECK_OVERLAPS");
  ArrayChecks::Wanted wanted;
  wanted.holes = facts_.ranks == facts_.node_ranks;
  wanted.overlaps = overlaps && std::string_view(overlaps) == "1";
  wanted.from_start = segment_.server_words().done_iteration.load() < 0;
  return wanted;
}

ScriptPoolParts Server::script_parts() {
  ScriptPoolParts parts{model_, facts_.session};
  parts.segment_path = segment_.path();
  parts.segment_start = segment_.at<char>(0);
  parts.ranks = facts_.ranks;
  parts.node_ranks = facts_.node_ranks;
  parts.resumed = facts_.resumed;
  parts.log = log_;
  parts.store = [this](ScriptResults results) { pipeline_.submit(std::move(results)); };
  parts.wake = [this] { ring(results_bell_.get()); };
  return parts;
}

SpillerParts Server::spiller_parts(const platform::SpillFolder* folder) {
  SpillerParts parts;
  if (folder) parts.folder = folder->descriptor();
  parts.path = folder ? folder->path() : model_.architecture.spill_folder;
  parts.most_bytes = model_.architecture.spill_bytes;
  parts.segment_start = segment_.at<char>(0);
  parts.segment_bytes = segment_.header().segment_bytes;
  parts.log = log_;
  parts.wake = [bell = results_bell_.get()] { ring(bell); };
  return parts;
}

void Server::watch(int fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Server::open_ledger() {
  if (const std::string note = ledger_file_.start(ledger_); !note.empty()) log_->warn("{}", note);
}

int Server::run() {
  for (const platform::UniqueFd* fd : {&listener_, &doorbell_, &results_bell_, &signals_}) {
    watch(fd->get());
  }
  drains_->start();
  if (facts_.ranks == facts_.node_ranks || facts_.drained || all_have_attached()) start_stores();
  spiller_.start();
  scripts_.start();
  if (!facts_.drained) start_populating();
  std::int64_t looked_ns = platform::now_ns();
  while (!closed_) {
    const bool busy = take_all_events() || has_news();
    take_results();
    pass_on_complete();
    close_when_drained();
    if (busy) last_event_ns_ = platform::now_ns();
    if (busy && last_event_ns_ - looked_ns < kLookAroundNs) continue;
    if (busy) {
      look_around(0);
    } else if (!spin()) {
      sleep();
    }
    looked_ns = platform::now_ns();
  }
  if (given_up_.empty()) say_farewell();
  return ledger_.anything_lost() ? kExitLost : ledger_.anything_amiss() ? kExitAmiss : 0;
}

bool Server::all_have_attached() const noexcept {
  return std::none_of(clients_.begin(), clients_.end(),
                      [](const ClientLink& c) { return c.phase() == ClientLink::Phase::absent; });
}

void Server::made_progress() noexcept {
  segment_.server_words().progress.fetch_add(1, std::memory_order_relaxed);
}

bool Server::all_gone() const noexcept {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const ClientLink& client) { return client.is_gone(); });
}

void Server::close_when_drained() {
  if (closing_ || !may_store() || !all_gone() || !iterations_.empty() || !held_.empty() ||
      !scripts_.idle())
    return;
  // Those that wait for the last word would be told by the end of the socket that it never comes.
  if (facts_.resumed && somebody_is_away()) return;
  // The ledger that the stores keep knows of all that came before.
  if (pipeline_.is_busy()) return;
  closing_ = true;
  populator_.stop();
  for (const auto& [name, fate] : scripts_.fates()) ledger_.script_fared(name, fate);
  start_stores();
  ledger_file_.publish(ledger_, "closing");
  pipeline_.close();
}

// Returns what there is to say of it.
std::string Server::finish_ledger() {
  if (const std::string why = ledger_file_.finish(ledger_); !why.empty()) log_->warn("{}", why);
  ledger_.settle_failures();
  return loss_table(ledger_, ledger_file_.name(), kMostFarewell);
}

// Of the log: whoever reads nothing else has read how it went.
std::string Server::last_line() const {
  std::int64_t ended = 0;
  for (std::uint32_t i = 0; i < clients_.size(); ++i)
    ended = std::max(ended, iterations_.current(i));
  std::uint64_t bytes = 0;
  for (const auto& plugin : pipeline_.plugins()) bytes += plugin->bytes();
  const std::uint64_t stored = ledger_.stored_iterations(), failed = ledger_.failed_iterations();
  std::string text = fmt::format("done: {} iteration{} ended, {} stored ({})", ended,
                                 ended == 1 ? "" : "s", stored, platform::format_bytes(bytes));
  if (facts_.resumed) {
    text += " since this server has taken over";
  } else if (const auto others = static_cast<std::int64_t>(stored + failed + dropped_.size());
             others < ended && !ledger_.anything_lost()) {
    text += fmt::format(", {} not due in any store", ended - others);
  }
  if (failed > 0) text += fmt::format(", {} NOT STORED", failed);
  if (const std::string dropped = what_was_left_out(); !dropped.empty()) text += ", " + dropped;
  if (ledger_.anything_lost()) return text + ", NOT ALL OF THE DATA IS STORED, see above";
  text += ", nothing lost";
  for (const std::string& line : what_is_amiss(ledger_)) text += "; " + cut(line, kMostInLastLine);
  return text;
}

void Server::say_farewell() {
  // Nobody can attach from here on: a simulation that starts anew finds no socket and starts its
  // own server. A rank of this run finds that it is too late.
  note_late_ranks();
  listener_.reset();
  ::unlink(socket_path_.c_str());
  say_reports(true);
  const std::string amiss = finish_ledger();
  shm::Farewell farewell{};
  farewell.status =
      static_cast<std::int32_t>(ledger_.anything_lost() ? Status::ERROR_LOST : Status::OK);
  farewell.amiss = ledger_.anything_amiss();
  amiss.copy(farewell.message, sizeof farewell.message - 1);
  farewell.speaks = 1;  // the first of this node that is there to speak
  if (!amiss.empty()) log_->warn("{}", amiss);
  for (const std::string& line : scripts_.report()) log_->info("{}", line);
  if (const std::string line = spiller_.report(); !line.empty()) log_->info("{}", line);
  if (facts_.drained) say_drained();
  log_->info("{}", last_line());
  log_->flush();
  for (ClientLink& client : clients_) {
    if (client.phase() != ClientLink::Phase::finalized) continue;
    if (platform::send_message(client.socket(), &farewell, sizeof farewell, kFarewellLimitNs))
      farewell.speaks = 0;
  }
}

}  // namespace leat::server
