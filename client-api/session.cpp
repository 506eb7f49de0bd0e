// SPDX-License-Identifier: Apache-2.0
#include "client-api/session.hpp"

#include <cstdio>
#include <exception>

#include "client-api/last_error.hpp"
#include "lib/os/process.hpp"
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
      place_(static_cast<std::uint32_t>(connection.place)),
      segment_(std::move(segment)),
      channel_(segment_, place_, std::move(connection.server),
               [this](const TellHeld& held, std::int64_t ns) { return find_successor(held, ns); }),
      variables_(shm::Catalogue(segment_), start_.config),
      failures_(channel_, variables_),
      blocks_(channel_, variables_, failures_),
      parameters_(place_, channel_, variables_, failures_),
      meshes_(shm::Catalogue(segment_), variables_, failures_),
      signals_(channel_, start_.config, failures_),
      idle_phases_(segment_, place_),
      collectives_(segment_, place_, start_.ranks.size) {
  enter(0);
}

void Session::enter(std::int64_t iteration) {
  channel_.enter(iteration);
  blocks_.begin_iteration();
  signals_.begin_iteration();
  parameters_.enter(iteration);
}

Result<Connection> Session::find_successor(const TellHeld& held, std::int64_t limit_ns) noexcept {
  try {
    Result<Connection> next = connect_or_take_over(start_, held, limit_ns);
    if (next && next->own.pid > 0) {
      if (own_.pid > 0) platform::reap(own_.pid, 0);
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
Result<shm::Segment> Session::take_place(const std::string& name, std::uint32_t place) {
  Result<shm::Segment> segment = shm::Segment::attach(name);
  if (!segment) return segment;
  if (!segment->be_client(place))
    return Error{Status::ERROR_SYSTEM, "cannot lock this rank's place in " + name};
  // The next one may have looked for ranks before this one had its place.
  if (!segment->has_server())
    return Error{Status::ERROR_SERVER, "the server died while this rank attached"};
  const Result<void> is_protected = shm::protect_from_client(*segment, place);
  if (!is_protected) return is_protected.error();
  return segment;
}

Result<std::unique_ptr<Session>> Session::open(const std::string& config, const Ranks& ranks,
                                               std::int64_t since_ns, bool was_split) {
  ServerStart start{config, ranks, platform::current_folder(), "", since_ns, was_split};
  for (int tries = 1;; ++tries) {
    Result<Connection> connection = connect_or_start(start);
    if (!connection) return connection.error();
    Result<shm::Segment> segment =
        take_place(connection->segment, static_cast<std::uint32_t>(connection->place));
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

// Whatever the server does, this rank is in the next iteration then: ranks that count differently
// would be worse. The server learns the number with the end, however late that comes.
Status Session::end_iteration(const Call& call) {
  platform::WaitBudget budget = channel_.budget();
  Status status = channel_.server().check(budget);
  const shm::Event end = channel_.end_event();
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

bool Session::is_automatic() const noexcept {
  return static_cast<shm::Synchronous>(segment_.header().synchronous) ==
         shm::Synchronous::unless_overlaps;
}

bool Session::must_wait() const noexcept {
  if (!is_automatic()) return segment_.header().synchronous != 0;
  return segment_.server_state().overlaps.load(std::memory_order_relaxed) == 0;  // orders nothing
}

Status Session::await_settled(const Call& call, std::int64_t iteration) {
  const InsideTime time(channel_);
  ServerWatch& server = channel_.server();
  platform::WaitBudget budget = channel_.budget();
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

}  // namespace leat::client
