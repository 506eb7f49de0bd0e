// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/session.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "client-api/connect/hosted_server.hpp"
#include "client-api/connect/last_error.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"
#include "lib/os/scratch.h"
#include "lib/shm/handshake.hpp"
#include "lib/shm/segment.hpp"

namespace leat::client {
namespace {

constexpr int kMostStarts = 5;

Error not_settled(std::int64_t iteration, std::int64_t given_up) {
  return {
      Status::ERROR_TIMEOUT,
      "mode=\"sync\" or runs=\"sync\": iteration " + std::to_string(iteration) +
          " is not done yet: another rank of this node has not ended iteration " +
          std::to_string(given_up) +
          ", or a store or script takes longer than the timeout. Nothing is lost by that; later "
          "iterations are not waited for until that one is done"};
}

}  // namespace

Session::Session(ServerStart start, Connection connection, shm::Segment segment)
    : start_(std::move(start)),
      own_(std::move(connection.own)),
      offer_(std::move(connection.offer)),
      place_(static_cast<std::uint32_t>(connection.place)),
      segment_(std::move(segment)),
      channel_(
          segment_, place_, std::move(connection.server),
          [this](const AskForHeld& held, std::int64_t ns) { return find_successor(held, ns); }),
      variables_(shm::Catalogue(segment_), start_.config),
      failures_(channel_, variables_),
      blocks_(channel_, variables_, failures_),
      products_(channel_),
      undeclared_(channel_, variables_, failures_, products_, start_.ranks.rank),
      parameters_(place_, channel_, variables_, failures_),
      meshes_(shm::Catalogue(segment_), variables_, failures_),
      signals_(channel_, start_.config, failures_),
      idle_phases_(channel_, place_),
      collectives_(segment_, place_, start_.ranks.size),
      checkpoints_(segment_, start_.ranks, variables_, failures_) {
  enter(0);
}

void Session::enter(std::int64_t iteration, bool has_constants) {
  channel_.enter(iteration);
  blocks_.begin_iteration(has_constants);
  signals_.begin_iteration();
  undeclared_.begin_iteration();
  parameters_.enter(iteration);
}

Status Session::restart_step(const Call& call, std::int64_t* iteration) {
  const std::int64_t next = checkpoints_.next_iteration();
  if (!iteration)
    return failures_.complain(call, {Status::ERROR_ARGUMENT, "the pointer to fill is NULL"}, "");
  const bool is_there = channel_.iteration() == next, has_said = has_begun_ && !has_varying();
  if (has_varying() || (channel_.iteration() != 0 && !is_there))
    return refuse_number(
        call,
        "this rank is at work in iteration " + std::to_string(channel_.iteration()) +
            " already: call it after leat_init, before the first write of what varies in time",
        is_there || has_said);
  settle_refused();
  // The server is told as by leat_start_at, so that it knows which ranks do not ask.
  const Status told = next > 0 && !has_begun_ ? start_at(call, next) : Status::OK;
  if (const Status status = checkpoints_.restore(call, parameters_); status != Status::OK)
    return status;
  *iteration = next;
  return told;
}

Result<Connection> Session::find_successor(const AskForHeld& held, std::int64_t limit_ns) noexcept {
  try {
    Result<Connection> next = connect_or_take_over(start_, held, limit_ns);
    if (next && next->own.pid > 0) {
      if (own_.pid > 0) os::reap(own_.pid, 0);
      own_ = std::move(next->own);
      std::fprintf(stderr,
                   "leat: the server of this node has died; another one has taken over what was "
                   "handed over, its log says more\n");
    }
    return next;
  } catch (const std::exception& e) {
    return Error{Status::ERROR_SYSTEM, e.what()};
  }
}

// This rank's place in the segment of the server that it is connected to. ERROR_SERVER: that has
// died before there was anything to take over.
Result<shm::Segment> Session::take_place(const std::string& name, std::uint32_t place,
                                         bool is_one_of_several) {
  Result<shm::Segment> segment = shm::Segment::attach(name);
  if (!segment) return segment;
  if (!(is_one_of_several ? segment->be_one_of_several(place) : segment->be_client(place)))
    return Error{Status::ERROR_SYSTEM, "cannot lock this rank's place in " + name};
  // The next one may have looked for ranks before this one had its place.
  if (!segment->has_server())
    return Error{Status::ERROR_SERVER, "the server died while this rank attached"};
  const Result<void> is_protected = shm::protect_from_client(*segment, place);
  if (!is_protected) return is_protected.error();
  return segment;
}

Result<std::unique_ptr<Session>> Session::open(const std::string& config, const Ranks& ranks,
                                               std::int64_t since_ns, bool was_split, bool meets) {
  return open_with({config, ranks, os::current_folder(), "", since_ns, was_split, 0, meets}, false);
}

Result<std::unique_ptr<Session>> Session::open_one_of_several(const std::string& config,
                                                              const Ranks& ranks) {
  return open_with({config, ranks, os::current_folder(), "", os::now_ns(), true, 0, false}, true);
}

Result<std::unique_ptr<Session>> Session::open_with(ServerStart start, bool is_one_of_several) {
  for (int tries = 1;; ++tries) {
    Result<Connection> connection = connect_or_start(start);
    if (!connection) return connection.error();
    Result<shm::Segment> segment = take_place(
        connection->segment, static_cast<std::uint32_t>(connection->place), is_one_of_several);
    if (segment) {
      start.segment = connection->segment;
      start.server = connection->number;
      return join(std::move(start), std::move(*connection), std::move(*segment));
    }
    const bool again = segment.error().status == Status::ERROR_SERVER && tries < kMostStarts;
    if (!again) return segment.error();
  }
}

std::unique_ptr<Session> Session::join(ServerStart start, Connection connection,
                                       shm::Segment segment) {
  return std::unique_ptr<Session>(
      new Session(std::move(start), std::move(connection), std::move(segment)));
}

void Session::leave_to_parent() noexcept {
  channel_.events().link().close();
  segment_.close_in_child();
}

Status Session::write_any(const Call& call, const char* name, const leat_array* array) {
  if (name && variables_.find(name) >= 0) return blocks_.write_array(call, name, 0, array);
  return undeclared_.write(call, name, array);
}

Status Session::end_iteration(const Call& call) {
  if (channel_.is_traced()) [[unlikely]]
    return end_traced(call);
  return end(call);
}

[[gnu::noinline, gnu::cold]] Status Session::end_traced(const Call& call) {
  const std::int64_t iteration = channel_.iteration(), begun_ns = os::now_ns();
  const Status status = end(call);
  channel_.tell_span(shm::SpanKind::end_iteration, iteration, begun_ns, os::now_ns());
  return status;
}

// Whatever the server does, this rank is in the next iteration then: ranks that count differently
// would be worse. The server learns the number with the end, however late that comes.
inline Status Session::end(const Call& call) {
  os::WaitBudget budget = channel_.budget();
  Status status = channel_.server().check(budget);
  const shm::Event end = channel_.end_event();
  has_begun_ = true;
  collectives_.iteration_ends(end.iteration);
  enter(end.iteration + 1);
  if (status == Status::OK) status = channel_.tell(call.lock, budget, end);
  if (status == Status::OK) return must_wait() ? await_settled(call, end.iteration) : status;
  if (status == Status::ERROR_FULL) {
    return failures_.complain(
        call,
        {Status::ERROR_TIMEOUT,
         "the server has not taken events for too long; the end of iteration " +
             std::to_string(end.iteration) + " is sent as soon as it does"},
        "");
  }
  return failures_.complain(call, {status, channel_.server().why_gone()}, "");
}

// Files have room for numbers of 32 bits; one more, which nobody ends, must be one too.
Status Session::expect_number(const Call& call, const char* what, std::int64_t iteration) {
  constexpr std::int64_t kMost = INT32_MAX - 1;
  if (iteration >= 0 && iteration <= kMost) return Status::OK;
  return refuse_number(call,
                       std::string(what) + " cannot have the number " + std::to_string(iteration) +
                           ": numbers go from 0 to " + std::to_string(kMost),
                       false, Status::ERROR_ARGUMENT);
}

Status Session::refuse_number(const Call& call, const std::string& why, bool is_right,
                              Status status) {
  if (is_right) {
    settle_refused();
    return failures_.complain(call, {status, why}, "");
  }
  // What was written before any number was said is of this one too.
  if (refused_.empty())
    sent_when_refused_ = !has_begun_ && has_varying() ? INT64_MIN : sent_without_ends();
  refused_ = std::string(call.name) + ": " + why;
  return failures_.complain(call, {status, why}, "");
}

void Session::settle_refused() {
  const std::string refused = std::exchange(refused_, {});
  if (!refused.empty() && sent_without_ends() > sent_when_refused_ && misnumbered_.empty())
    misnumbered_ = refused;
}

Status Session::start_at(const Call& call, std::int64_t iteration) {
  const Status status = expect_number(call, "the first iteration", iteration);
  if (status != Status::OK) return status;
  if (has_chosen_first())
    return refuse_number(
        call,
        "this rank has begun already, and is in iteration " + std::to_string(channel_.iteration()) +
            ": call leat_start_at once, after leat_init and before the first leat_write of what "
            "varies in time, leat_signal or leat_end_iteration; nothing is changed",
        has_begun_ && iteration == channel_.iteration());
  return jump(call, iteration);
}

// Without a gap there is nothing to say: a code may make the call in each iteration.
Status Session::begin_iteration(const Call& call, std::int64_t iteration) {
  const Status status = expect_number(call, "an iteration", iteration);
  if (status != Status::OK) return status;
  const std::int64_t current = channel_.iteration();
  if (iteration == current && (has_begun_ || has_anything())) {
    settle_refused();
    return Status::OK;
  }
  const std::string begins = "iteration " + std::to_string(iteration) + " cannot begin: ";
  if (iteration < current)
    return refuse_number(call, begins + "this rank is in iteration " + std::to_string(current) +
                                   " already, and numbers only grow; nothing is changed");
  if (has_anything() && has_chosen_first())
    return refuse_number(
        call, begins + "this rank has written or signalled in iteration " +
                  std::to_string(current) +
                  " and not ended it: call it before the first leat_write of an iteration, or "
                  "leat_end_iteration before it; nothing is changed");
  return jump(call, iteration);
}

// What was written so far does not vary in time, and comes along: the server knows that too.
Status Session::jump(const Call& call, std::int64_t iteration) {
  has_begun_ = true;
  settle_refused();
  if (iteration > channel_.iteration()) enter(iteration, has_anything());
  os::WaitBudget budget = channel_.budget();
  const Status status =
      channel_.tell(call.lock, budget, channel_.event_of(shm::EventKind::start_at));
  if (status == Status::OK) return status;
  const std::string why = status == Status::ERROR_SERVER
                              ? channel_.server().why_gone()
                              : "the server has not taken events for too long; the number holds, "
                                "and is sent as soon as it does";
  return failures_.complain(call, {status, why}, "");
}

bool Session::is_automatic() const noexcept {
  return static_cast<shm::Synchronous>(segment_.header().synchronous) ==
         shm::Synchronous::unless_overlaps;
}

bool Session::must_wait() const noexcept {
  if (!is_automatic()) return segment_.header().synchronous != 0;
  return segment_.server_state().overlaps.load(std::memory_order_relaxed) == 0;  // orders nothing
}

Status Session::await_settled(const Call& call, std::int64_t iteration) {
  const InsideTime time(channel_, shm::SpanKind::settled);
  ServerWatch& server = channel_.server();
  os::WaitBudget budget = channel_.budget();
  while (must_wait() && !server.is_settled(iteration)) {
    Status status = Status::ERROR_FULL;
    if (!server.gave_up()) status = server.await_settled(call.lock, budget, iteration);
    if (status == Status::ERROR_FULL) {
      if (!server.gave_up()) server.give_up(iteration);
      if (is_automatic()) return Status::OK;  // it was to be fast, and is stored all the same
      const std::int64_t given_up = server.gave_up().value_or(iteration);
      return failures_.complain(call, not_settled(iteration, given_up), "");
    }
    if (status != Status::OK) return failures_.complain(call, {status, server.why_gone()}, "");
  }
  return Status::OK;
}

Status Session::await_stored(const Call& call, std::int64_t iteration) {
  constexpr std::int64_t kLookNs = 500'000;
  os::WaitBudget budget = channel_.budget();
  Status status = Status::OK;
  while (status == Status::OK && stored_until() < iteration && !channel_.is_dropped(iteration)) {
    if (budget.left_ns() == 0) return Status::ERROR_FULL;
    call.lock.unlock();
    os::sleep_ns(kLookNs);
    call.lock.lock();
    status = channel_.server().check(budget);
  }
  return status;
}

// The part of Session after the last iteration: it ends when all is stored, or says what is not.

namespace {

constexpr std::int64_t kSliceNs = 100'000'000;
constexpr std::int64_t kReapLimitNs = 2'000'000'000;

// For tests and chains of jobs: whatever went wrong is an error.
bool is_strict() {
  const char* const value = std::getenv("LEAT_STRICT");
  return value && *value != 0 && std::strcmp(value, "0") != 0;
}

}  // namespace

void Session::detach(const Call& call) noexcept {
  if (has_anything()) (void)end_iteration(call);
  settle_refused();
  undeclared_.tell_dropped(call);
  os::WaitBudget budget = channel_.budget();
  (void)channel_.tell(call.lock, budget, channel_.event_of(shm::EventKind::finalize));
}

Status Session::await_drained(const char* call_name) {
  shm::DrainReport report{};
  ProgressBudget budget = progress_budget();
  for (;;) {
    switch (channel_.events().link().await(&report, kSliceNs)) {
      case shm::ToServer::Received::message:
        report.message[sizeof report.message - 1] = 0;
        if (report.has_problems && is_strict())
          report.status = static_cast<int>(Status::ERROR_LOST);
        return end_of_drain(call_name, report.message, static_cast<Status>(report.status),
                            report.speaks != 0);
      case shm::ToServer::Received::closed:
        if (channel_.server().change_server(budget.left()) == Status::OK) break;
        return end_of_drain(call_name, "not all may be stored: " + channel_.server().why_gone(),
                            Status::ERROR_SERVER, place_ == 0);
      case shm::ToServer::Received::nothing:
        break;
    }
    channel_.events().has_room();  // sends what found none before
    if (budget.left().left_ns() == 0) {
      return end_of_drain(
          call_name,
          "for the whole timeout the server has made no progress, because other ranks "
          "of this node neither write nor end, or because it is stuck; it goes on "
          "by itself, and its log says what became of the data",
          Status::ERROR_TIMEOUT, place_ == 0);
    }
  }
}

void Session::leave_at_exit() noexcept {
  ProgressBudget budget = progress_budget();
  leave_to_parent();
  if (!own_.hosted) return;
  while (!own_.hosted->await_end(kSliceNs)) {
    if (budget.left().left_ns() > 0) continue;
    tell(
        "the server in this process has made no progress for the whole timeout, and ends with it; "
        "what is in memory is stored by the next start on this node, or by `leat recover`");
    return;
  }
}

// What was handed over after the run had been drained: the server takes nothing once it has noted
// that this rank is cut off.
void Session::count_late() {
  const shm::ServerLane& lane = *segment_.client(place_).server;
  const shm::ClientRecord& record = lane.records[lane.record.load(std::memory_order_acquire) & 1];
  if (record.phase != static_cast<std::uint32_t>(shm::ClientPhase::cut_off)) return;
  const std::string why = shm::drain_in_words(segment_.server_state());
  channel_.events().for_each_left([&](const shm::Event& event) {
    if (event.kind == static_cast<std::uint32_t>(shm::EventKind::block))
      failures_.lose_block(event, why);
  });
}

Status Session::end_of_drain(const char* call_name, const std::string& says, Status server_status,
                             bool speaks) {
  if (server_status != Status::ERROR_TIMEOUT) {
    if (own_.pid > 0) os::reap(own_.pid, kReapLimitNs);
    if (own_.hosted) own_.hosted->await_end(kReapLimitNs);
  }
  count_late();
  const std::uint64_t lost = failures_.lost();
  const bool is_misnumbered = !misnumbered_.empty();
  if (server_status == Status::OK && lost == 0 && !is_misnumbered) {
    // No error, but nobody shall wonder.
    if (!says.empty() && speaks) tell(std::string(call_name) + ": " + says);
    return Status::OK;
  }
  std::string text;
  if (lost > 0)
    text = std::to_string(lost) + (lost == 1 ? " write" : " writes") +
           " of this rank failed, nothing of which is stored; the first: " + failures_.first_lost();
  if (is_misnumbered)
    text += (lost > 0 ? "\n" : "") +
            ("iterations of this rank are stored under other numbers than the code said, since a "
             "call was refused: " +
             misnumbered_);
  const bool has_own = !text.empty();
  if (!says.empty()) text += (has_own ? "\nthe server: " : "") + says;
  const Status own_status = lost > 0 ? Status::ERROR_LOST : Status::ERROR_STATE;
  // What the node's server says is printed by one rank; what only a rank knows, by that rank.
  return fail_quietly(server_status == Status::OK ? own_status : server_status,
                      std::string(call_name) + ": " + text,
                      speaks || (has_own && server_status != Status::ERROR_LOST));
}

namespace {

constexpr std::int64_t kOtherCallsNs = 1'000'000'000;

// The session itself is left as it is: threads that were in the midst of it are not here any more,
// and its memory may be what the child reads.
void on_fork_in_child() noexcept {
  alignas(Handle) static char place[sizeof(Handle)];
  Handle* const own = used_handle.load(std::memory_order_relaxed);
  const bool is_child_of_child = own && own->parent != 0;
  if (!own || (!is_child_of_child && !own->session && !own->opening)) return;
  const int parent = is_child_of_child ? own->parent : getppid();
  if (!is_child_of_child && own->session) own->session->leave_to_parent();
  auto* const childs = new (place) Handle;  // a child of a child has a new one in the same place
  childs->parent = parent;
  used_handle.store(childs, std::memory_order_relaxed);  // while it has only one thread
  start_anew_in_child();
}

// Other threads may be in the midst of a call still.
void on_end_of_process() noexcept {
  Handle* const own = used_handle.load(std::memory_order_acquire);
  if (!own || own->parent != 0) return;
  std::unique_lock<std::mutex> lock(own->mutex, std::defer_lock);
  for (const os::Deadline deadline = os::Deadline::in_ns(kOtherCallsNs);
       !lock.try_lock() && !deadline.passed();)
    os::pause_shortly();
  if (lock && own->session) own->session->leave_at_exit();
  if (lock) (void)tell_unstored(*own, "");
  HostedServer::await_all();
}

// Of the main thread: such objects go before all that is static, also what was made after them.
struct EndOfMain {
  ~EndOfMain() { on_end_of_process(); }
};

}  // namespace

Handle& handle() {
  static Handle* const own = new Handle;
  Handle* none = nullptr;
  used_handle.compare_exchange_strong(none, own);
  return *used_handle.load(std::memory_order_acquire);
}

bool notices_forks() noexcept {
  static const bool registered = os::call_in_forked_children(on_fork_in_child);
  return registered;
}

std::string tell_unstored(Handle& the, const std::string& prefix) {
  FailedInit& failed = the.failed_init;
  if (failed.call.empty() || failed.calls == 0 || failed.pid != getpid()) return "";
  const std::string text =
      prefix + "nothing of this run is stored: " + failed.call + " had failed, and " +
      std::to_string(failed.writes) + (failed.writes == 1 ? " write" : " writes") +
      " of this rank came after it. Why: " + failed.why.substr(0, failed.why.find('\n'));
  if (failed.speaks && !failed.is_told) tell(text);
  failed.is_told = true;
  return text;
}

// By whatever thread the process is ended, though not as early then.
void notice_exit() noexcept {
  (void)std::atexit(on_end_of_process);
  if (gettid() != getpid()) return;
  static thread_local const EndOfMain end;
  (void)end;
}

bool is_switched_off() noexcept {
  static const bool off = [] {
    const char* value = std::getenv("LEAT");
    return value && std::strcmp(value, "off") == 0;
  }();
  return off;
}

Status alloc_without_server(const char* function, const char* variable, std::uint32_t block,
                            void** data) noexcept {
  const std::string call(function);
  if (!data || !variable)
    return fail(Status::ERROR_ARGUMENT,
                call + ": the variable's name or the pointer to fill is NULL", call);
  *data = scratch_memory(variable, block);
  if (*data) return Status::OK;
  return fail(Status::ERROR_MEMORY,
              call +
                  ": LEAT=off, and the address space has no room for another block: raise the "
                  "limit that `ulimit -v` shows",
              call);
}

Status commit_without_server(const char* variable, std::uint32_t block) noexcept {
  if (variable) (void)scratch_commit(variable, block);
  return Status::OK;
}

}  // namespace leat::client
