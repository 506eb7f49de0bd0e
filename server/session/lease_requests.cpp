// SPDX-License-Identifier: Apache-2.0
#include "server/session/lease_requests.hpp"

#include <algorithm>

namespace leat::server {
namespace {

bool is_served_before(const LeaseRequest& a, const LeaseRequest& b) {
  if (a.is_ahead() != b.is_ahead()) return b.is_ahead();
  return a.iteration < b.iteration;
}

}  // namespace

bool LeaseRequests::add(const LeaseRequest& request) {
  // The client now needs what it had asked for ahead: one request, not two.
  const auto same = std::find_if(waiting_.begin(), waiting_.end(), [&](const LeaseRequest& w) {
    return w.client == request.client && !w.is_own() && !request.is_own();
  });
  if (same != waiting_.end()) waiting_.erase(same);
  const auto waits = std::count_if(waiting_.begin(), waiting_.end(), [&](const LeaseRequest& w) {
    return w.client == request.client;
  });
  if (waits >= kMost) return false;
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), request, is_served_before),
                  request);
  return true;
}

void LeaseRequests::forget(std::uint32_t client) {
  std::erase_if(waiting_, [&](const LeaseRequest& w) { return w.client == client; });
}

LeaseRequest LeaseRequests::take_first() {
  const LeaseRequest first = waiting_.front();
  waiting_.erase(waiting_.begin());
  return first;
}

const LeaseRequest* LeaseRequests::first_unmet() const noexcept {
  return waiting_.empty() || waiting_.front().is_ahead() ? nullptr : &waiting_.front();
}

std::vector<LeaseRequest> LeaseRequests::take_unmet_of(std::int64_t iteration) {
  std::vector<LeaseRequest> taken;
  std::erase_if(waiting_, [&](const LeaseRequest& request) {
    const bool is_one = !request.is_ahead() && request.iteration == iteration;
    if (is_one) taken.push_back(request);
    return is_one;
  });
  return taken;
}

std::vector<LeaseRequest> LeaseRequests::take_overdue(std::int64_t before_ns) {
  std::vector<LeaseRequest> overdue;
  for (LeaseRequest& request : waiting_) {
    if (request.is_ahead() || request.was_said || request.since_ns > before_ns) continue;
    request.was_said = true;
    overdue.push_back(request);
  }
  return overdue;
}

}  // namespace leat::server
