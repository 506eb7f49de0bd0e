// SPDX-License-Identifier: Apache-2.0
#include "client-api/channel.hpp"

#include <utility>

namespace leat::client {

using platform::WaitBudget;
using shm::Event;
using shm::EventKind;
using Asked = LeaseRequests::Asked;

Channel::Channel(const shm::Segment& segment, std::uint32_t index,
                 std::unique_ptr<shm::ToServer> server, FindSuccessor find_successor)
    : segment_(segment),
      area_(segment.client(index)),
      events_(segment, area_, std::move(server)),
      memory_(segment, area_, events_),
      watch_(segment, area_, events_, memory_, std::move(find_successor)),
      timeout_ns_(static_cast<std::int64_t>(segment.header().timeout_ns)) {}

Event Channel::event_of(EventKind kind) const noexcept {
  Event event{};
  event.kind = static_cast<std::uint32_t>(kind);
  event.iteration = iteration_;
  return event;
}

Event Channel::end_event() noexcept {
  Event event = event_of(EventKind::end_iteration);
  event.at_ns = platform::now_ns();
  event.inside_ns = static_cast<std::uint64_t>(std::exchange(inside_ns_, 0));
  return event;
}

Status Channel::push(Lock& lock, WaitBudget& budget, const Event& event) noexcept {
  const Status status = await_room(lock, budget);
  if (status == Status::OK) events_.push_at_once(event);
  return status;
}

// Another thread may have ended the iteration while this one waited.
Status Channel::push_block(Lock& lock, WaitBudget& budget, std::uint64_t offset) noexcept {
  const Status status = await_room(lock, budget);
  if (status == Status::OK) events_.push_block_at_once(offset, iteration_);
  return status;
}

Status Channel::tell(Lock& lock, WaitBudget& budget, const Event& event) noexcept {
  if (events_.push_at_once(event)) return Status::OK;
  events_.keep(event);
  return await_room(lock, budget);
}

Status Channel::await_room(Lock& lock, WaitBudget& budget) noexcept {
  while (!events_.has_room()) {
    const Status status = watch_.wait(lock, budget, 0);
    if (status != Status::OK) return status;
  }
  return Status::OK;
}

Status Channel::reserve(Lock& lock, WaitBudget& budget, std::uint64_t data_bytes,
                        std::int64_t iteration, std::uint64_t* offset) noexcept {
  const std::uint64_t bytes = shm::RegionArena::block_bytes(data_bytes);
  if (bytes == 0 || bytes > segment_.header().data_bytes) return Status::ERROR_TOO_LARGE;
  if (watch_.is_gone()) return Status::ERROR_SERVER;
  if (memory_.reserve_at_once(data_bytes, iteration, offset)) return Status::OK;
  LeaseRequests& requests = memory_.requests();
  requests.forget_refusal();
  if (!memory_.needs_own_region(bytes)) {
    const Status status = reserve_common(lock, budget, bytes, iteration, offset);
    if (status == Status::OK) memory_.begin_common(*offset, data_bytes);
    return status;
  }
  OwnRequest request;
  request.bytes = bytes;
  requests.begin(request);
  const Status status = reserve_own(lock, budget, request, iteration);
  requests.end(request);
  if (status == Status::OK) *offset = memory_.begin_own(request, data_bytes);
  return status;
}

Status Channel::reserve_common(Lock& lock, WaitBudget& budget, std::uint64_t bytes,
                               std::int64_t iteration, std::uint64_t* offset) noexcept {
  LeaseRequests& requests = memory_.requests();
  requests.expect_common();
  for (;;) {
    if (memory_.cut_anew(bytes, offset)) return Status::OK;
    if (is_dropped(iteration)) return Status::DROPPED;
    if (requests.is_refused()) return Status::ERROR_FULL;
    Status status = ask_common(lock, budget, iteration);
    if (status == Status::OK) status = watch_.wait(lock, budget, bytes);
    // Should the answer have been lost on its way, the next call asks once more.
    if (status == Status::ERROR_FULL) requests.forget_common();
    if (status != Status::OK) return status;
  }
}

// A region that has come is taken, whatever else has happened meanwhile.
Status Channel::reserve_own(Lock& lock, WaitBudget& budget, OwnRequest& request,
                            std::int64_t iteration) noexcept {
  Status status = Status::OK;
  while (status == Status::OK) {
    memory_.take_answers();
    if (request.region.bytes != 0) return Status::OK;
    status = is_dropped(iteration) ? Status::DROPPED : request.answer;
    if (status == Status::OK && !std::exchange(request.asked, true))
      status = push(lock, budget, LeaseRequests::event_of(request, iteration));
    if (status == Status::OK) status = watch_.wait(lock, budget, request.bytes);
  }
  return request.region.bytes != 0 ? Status::OK : status;
}

Status Channel::ask_common(Lock& lock, WaitBudget& budget, std::int64_t iteration) noexcept {
  LeaseRequests& requests = memory_.requests();
  if (requests.common() == Asked::urgently) return Status::OK;
  const Event request =
      requests.common_event(segment_.header().region_bytes, Asked::urgently, iteration);
  const Status status = push(lock, budget, request);
  if (status != Status::OK) return status;  // the server does not know of it
  requests.common_is_asked(request.token, Asked::urgently);
  return Status::OK;
}

Status Channel::drop(std::int64_t iteration) noexcept {
  memory_.requests().set_dropped(iteration);
  Event event{};
  event.kind = static_cast<std::uint32_t>(EventKind::drop);
  event.iteration = iteration;
  events_.tell_now(event);
  return Status::DROPPED;
}

}  // namespace leat::client
