// SPDX-License-Identifier: Apache-2.0
#include "client-api/session.hpp"

#include <bit>
#include <cstdio>
#include <cstring>
#include <exception>

#include "client-api/last_error.hpp"
#include "lib/platform/crc32c.hpp"
#include "lib/platform/memory.hpp"
#include "lib/platform/process.hpp"
#include "lib/shm/client_view.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::client {
namespace {

using platform::WaitBudget;
using shm::EventKind;

constexpr int kMostStarts = 5;
// Other threads wait less for such a copy than letting go of the lock, and taking it again, costs.
constexpr std::uint64_t kShortCopy = 4096;

// The rest is the channel's.
void fill_header(shm::BlockHeader& header, std::uint32_t variable, std::uint32_t block,
                 const BlockShape& shape) noexcept {
  header.variable = variable;
  header.block = block;
  header.dims = shape.dims;
  header.has_position = shape.has_position;
  header.has_checksum = 0;
  std::memcpy(header.extent, shape.extent.data(), sizeof header.extent);
  if (shape.has_position)
    std::memcpy(header.position, shape.position.data(), sizeof header.position);
}

}  // namespace

Session::Session(ServerStart start, Connection connection, shm::Segment segment)
    : start_(std::move(start)),
      ranks_(start_.ranks),
      server_pid_(connection.server_pid),
      segment_(std::move(segment)),
      channel_(segment_, static_cast<std::uint32_t>(ranks_.node_rank), std::move(connection.server),
               [this](const TellHeld& held, std::int64_t ns) { return find_successor(held, ns); }),
      variables_(shm::Catalogue(segment_), start_.config),
      parameters_(shm::Catalogue(segment_)),
      steering_(segment_, static_cast<std::uint32_t>(ranks_.node_rank)) {
  enter_iteration();
}

Result<Connection> Session::find_successor(const TellHeld& held, std::int64_t limit_ns) noexcept {
  try {
    Result<Connection> next = connect_or_take_over(start_, held, limit_ns);
    if (next) forget_printed();  // it knows nothing of what was reported
    if (next && next->server_pid > 0) {
      if (server_pid_ > 0) platform::reap(server_pid_, 0);
      server_pid_ = next->server_pid;
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
                                               std::int64_t since_ns) {
  ServerStart start{config, ranks, platform::current_folder(), "", since_ns};
  for (int tries = 1;; ++tries) {
    Result<Connection> connection = connect_or_start(start);
    if (!connection) return connection.error();
    Result<shm::Segment> segment =
        take_place(connection->segment, static_cast<std::uint32_t>(ranks.node_rank));
    if (segment) {
      start.segment = connection->segment;
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
  channel_.close_in_child();
  segment_.close_in_child();
}

[[gnu::noinline]] Error Session::explain(Status status, std::uint32_t variable,
                                         std::uint64_t bytes) const {
  const std::string name = "\"" + std::string(variables_.name(variable)) + "\"";
  const std::string need = platform::format_bytes(bytes);
  const std::string have = platform::format_bytes(segment_.header().data_bytes);
  if (status == Status::ERROR_TOO_LARGE) {
    return Error{status, "a block of " + name + " has " + need + " (" + std::to_string(bytes) +
                             " bytes), but the whole segment has " + have + " (" +
                             std::to_string(segment_.header().data_bytes) +
                             " bytes): make <buffer size=\"...\"/> in " + variables_.config() +
                             " larger"};
  }
  const std::string room = "no room for " + need + " of " + name + ": the segment of " + have;
  if (status == Status::ERROR_FULL && channel_.refusal().in_use > 0) {
    return explain_refusal(room, channel_.refusal());
  }
  if (status == Status::ERROR_FULL) {
    return Error{status, room + " stayed full for " +
                             std::to_string(channel_.timeout_ns() / 1'000'000) +
                             " ms; the data are stored slower than they come, or another rank of "
                             "this node has not ended its iteration"};
  }
  return Error{status, "the server of this node has died, and no other one can take over (" +
                           channel_.why_gone() + "); " + name + " of iteration " +
                           std::to_string(iteration_) + " is not stored"};
}

shm::Event Session::event_of(EventKind kind) const noexcept {
  shm::Event event{};
  event.kind = static_cast<std::uint32_t>(kind);
  event.iteration = iteration_;
  return event;
}

void Session::begin_block(std::uint64_t offset, std::uint32_t variable, std::uint32_t block,
                          const BlockShape& shape) noexcept {
  variables_.mark_written(variable);
  fill_header(*segment_.at<shm::BlockHeader>(offset), variable, block, shape);
}

Status Session::reserve(Call& call, std::uint32_t variable, const BlockShape& known,
                        std::uint32_t block, std::uint64_t* offset) {
  if (channel_.reserve_at_once(known.bytes, iteration_, offset)) {
    begin_block(*offset, variable, block, known);
    return Status::OK;
  }
  const BlockShape shape = known;  // another thread may change it while this one waits
  const Status status = await_memory(call, variable, shape.bytes, offset);
  if (status == Status::OK) begin_block(*offset, variable, block, shape);
  return status;
}

[[gnu::noinline]] Status Session::await_memory(Call& call, std::uint32_t variable,
                                               std::uint64_t bytes, std::uint64_t* offset) {
  WaitBudget budget(channel_.timeout_ns());
  const std::int64_t iteration = iteration_;
  Status status = channel_.reserve(call.lock, budget, bytes, iteration, offset);
  if (status == Status::ERROR_FULL && drops_iterations() && iteration == iteration_) {
    wrote_since_end_ = true;  // so that leat_finalize ends it, which says the same once more
    status = channel_.drop(iteration);
  }
  if (status == Status::OK || status == Status::DROPPED) return status;
  return lose(call, variable, explain(status, variable, bytes), bytes);
}

void Session::copy_into(std::uint64_t offset, const Source& source) noexcept {
  shm::BlockHeader& header = *segment_.at<shm::BlockHeader>(offset);
  void* const to = &header + 1;
  header.has_checksum = segment_.header().checksums;
  if (!source.array && header.data_bytes == 0) {
    header.checksum = 0;  // of nothing
  } else if (header.has_checksum != 0) {
    header.checksum = source.array ? pack_with_checksum(to, *source.array)
                                   : platform::copy_crc32c(to, source.data, header.data_bytes);
  } else if (source.array) {
    pack(to, *source.array);
  } else {
    std::memcpy(to, source.data, header.data_bytes);
  }
}

Status Session::push_block(Call& call, std::uint32_t variable, std::uint32_t block,
                           std::uint64_t offset) {
  const std::uint64_t data_bytes = segment_.at<shm::BlockHeader>(offset)->data_bytes;
  shm::Event event = event_of(EventKind::block);
  event.subject = variable;
  event.block = block;
  event.offset = offset;
  event.bytes = sizeof(shm::BlockHeader) + data_bytes;
  Status status = Status::OK;
  if (!channel_.push_at_once(event)) {
    WaitBudget budget(channel_.timeout_ns());
    status = channel_.push(call.lock, budget, event);
    if (status != Status::OK) channel_.forgo(offset);
  }
  wrote_since_end_ = wrote_since_end_ || status == Status::OK || drops_iterations();
  if (status == Status::ERROR_FULL && drops_iterations()) return channel_.drop(iteration_);
  if (status != Status::OK)
    return lose(call, variable, explain(status, variable, data_bytes), data_bytes);
  return channel_.is_dropped(iteration_) ? Status::DROPPED : Status::OK;
}

// Flat: a small block costs little more than the calls within.
[[gnu::flatten]] Status Session::write(Call& call, const char* name, std::uint32_t block,
                                       const void* data) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!find_to_write(call, name, block, &variable, &status)) return status;
  Error error;
  const BlockShape* known = variables_.shape(variable, variables_.block(variable, block), &error);
  if (!known) return lose(call, variable, error);
  return write_from(call, name, variable, block, *known, {data});
}

Status Session::write_from(Call& call, const char* name, std::uint32_t variable,
                           std::uint32_t block, const BlockShape& known, const Source& source) {
  if (!source.data && known.bytes > 0) {
    return lose(call, variable,
                {Status::ERROR_ARGUMENT, "the data of \"" + std::string(name) + "\" are NULL"});
  }
  if (!variables_.wanted(variable, iteration_)) return Status::OK;
  if (channel_.is_dropped(iteration_)) return Status::DROPPED;
  const bool is_short = known.bytes <= kShortCopy;
  std::uint64_t offset = 0;
  const Status status = reserve(call, variable, known, block, &offset);
  if (status != Status::OK) return status;
  if (!is_short) call.lock.unlock();
  copy_into(offset, source);
  if (!is_short) call.lock.lock();
  return push_block(call, variable, block, offset);
}

Status Session::alloc(Call& call, const char* name, std::uint32_t block, void** data,
                      bool column_major) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!data) return complain(call, {Status::ERROR_ARGUMENT, "the pointer to fill is NULL"}, "");
  *data = nullptr;
  if (!find_to_write(call, name, block, &variable, &status)) return status;
  BlockState& state = variables_.block(variable, block);
  Error error;
  const BlockShape* known = variables_.shape(variable, state, &error, column_major);
  if (!known) return lose(call, variable, error);
  if (state.allocated_offset == 0) {
    if (channel_.is_dropped(iteration_)) return Status::DROPPED;
    std::uint64_t offset = 0;
    status = reserve(call, variable, *known, block, &offset);
    if (status != Status::OK) return status;
    state.allocated_offset = offset;
  } else if (segment_.at<shm::BlockHeader>(state.allocated_offset)->data_bytes != known->bytes) {
    return complain(call,
                    {Status::ERROR_STATE, "\"" + std::string(name) +
                                              "\" has memory of another size since an "
                                              "earlier leat_alloc: commit that first"},
                    name);
  }
  *data = segment_.at<char>(state.allocated_offset + sizeof(shm::BlockHeader));
  return Status::OK;
}

Status Session::commit(Call& call, const char* name, std::uint32_t block) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!find_block(call, name, block, &variable, &status)) return status;
  BlockState& state = variables_.block(variable, block);
  if (state.allocated_offset == 0) {
    return complain(
        call,
        {Status::ERROR_STATE, "block " + std::to_string(block) + " of \"" + std::string(name) +
                                  "\" has no memory from leat_alloc"},
        name);
  }
  const std::uint64_t offset = state.allocated_offset;
  state.allocated_offset = 0;
  add_checksum(call, offset);
  return push_block(call, variable, block, offset);
}

// Whatever the server does, this rank is in the next iteration then: ranks that count differently
// would be worse. The server learns the number with the end, however late that comes.
Status Session::end_iteration(Call& call) {
  WaitBudget budget(channel_.timeout_ns());
  Status status = channel_.check_server(budget);
  const shm::Event end = event_of(EventKind::end_iteration);
  ++iteration_;
  wrote_since_end_ = false;
  enter_iteration();
  if (status == Status::OK) status = channel_.tell(call.lock, budget, end);
  if (status == Status::OK) return status;
  if (status == Status::ERROR_FULL) {
    return complain(call,
                    {Status::ERROR_TIMEOUT,
                     "the server has not taken events for too long; the end of iteration " +
                         std::to_string(end.iteration) + " is sent as soon as it does"},
                    "");
  }
  return complain(call,
                  {status, "the server of this node has died, and no other one can take over: " +
                               channel_.why_gone()},
                  "");
}

Status Session::wanted(Call& call, const char* name) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!find_variable(call, name, &variable, &status)) return status;
  const bool wanted = variables_.wanted(variable, iteration_) && !channel_.is_dropped(iteration_);
  return wanted ? Status::OK : Status::UNWANTED;
}

}  // namespace leat::client
