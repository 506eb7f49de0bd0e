// SPDX-License-Identifier: Apache-2.0
#include "client-api/lease_requests.hpp"

namespace leat::client {
namespace {

using shm::Event;
using shm::Release;

Event request_of(std::uint64_t bytes, std::uint32_t flags, std::int64_t iteration,
                 std::uint64_t token) noexcept {
  Event event{};
  event.kind = static_cast<std::uint32_t>(shm::EventKind::lease_request);
  event.flags = flags;
  event.iteration = iteration;
  event.bytes = bytes;
  event.token = token;
  return event;
}

}  // namespace

void LeaseRequests::begin(OwnRequest& request) noexcept {
  request.token = next_token_++;
  request.next = own_;
  own_ = &request;
}

void LeaseRequests::end(OwnRequest& request) noexcept {
  OwnRequest** link = &own_;
  while (*link != &request) link = &(*link)->next;
  *link = request.next;
}

Event LeaseRequests::event_of(const OwnRequest& request, std::int64_t iteration) noexcept {
  return request_of(request.bytes, shm::kLeaseOwn, iteration, request.token);
}

Event LeaseRequests::common_event(std::uint64_t bytes, Asked how, std::int64_t iteration) noexcept {
  const auto flags = how == Asked::ahead ? shm::kLeaseAhead : shm::kLeaseCommon;
  return request_of(bytes, flags, iteration, next_token_++);
}

void LeaseRequests::common_is_asked(std::uint64_t token, Asked how) noexcept {
  common_ = how;
  common_token_ = token;
}

// A request that has its region already has been asked once more after a failover, and the new
// server has found the first one too.
OwnRequest* LeaseRequests::take(const Release& release) noexcept {
  OwnRequest* const request = find(release.token);
  if (request && request->region.bytes == 0) {
    request->region = {release.offset, release.bytes};
    return request;
  }
  if ((release.flags & shm::kLeaseOwn) == 0) common_ = Asked::nothing;
  return nullptr;
}

void LeaseRequests::refuse(const Release& release) noexcept {
  refusal_ = {static_cast<shm::RefusalReason>(release.flags),
              static_cast<std::int64_t>(release.offset), release.bytes};
  if (OwnRequest* request = find(release.token)) {
    request->answer = Status::ERROR_FULL;
  } else if (release.token == common_token_) {
    common_refused_ = true;
    common_ = Asked::nothing;
  }
}

// The answer may be to a request of an iteration that this client has ended since.
void LeaseRequests::drop(const Release& release) noexcept {
  dropped_ = static_cast<std::int64_t>(release.offset);
  if (OwnRequest* request = find(release.token)) {
    request->answer = Status::DROPPED;
  } else if (release.token == common_token_) {
    common_ = Asked::nothing;
  }
}

void LeaseRequests::ask_again() noexcept {
  common_ = Asked::nothing;
  for (OwnRequest* request = own_; request; request = request->next) request->asked = false;
}

OwnRequest* LeaseRequests::find(std::uint64_t token) noexcept {
  OwnRequest* request = own_;
  while (request && request->token != token) request = request->next;
  return request;
}

}  // namespace leat::client
