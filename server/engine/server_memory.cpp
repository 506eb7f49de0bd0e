// SPDX-License-Identifier: Apache-2.0
// Server: who gets memory, and who is told what.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "lib/platform/clock.hpp"
#include "lib/platform/memory.hpp"
#include "lib/platform/memory_limit.hpp"
#include "lib/platform/process.hpp"
#include "server/engine/server.hpp"

namespace leat::server {
namespace {

// A wait of this length is worth a line; with a short timeout half of that.
constexpr std::int64_t kSayAfterNs = 10'000'000'000;
constexpr std::size_t kMostNamed = 8;
// Left to a control group that has a limit: the kernel kills one of its processes at the limit.
constexpr std::uint64_t kLeftToGroup = 8 << 20;

}  // namespace

// A simulation that waits for memory must not wonder why.
void Server::say_who_waits() {
  const auto timeout_ns = static_cast<std::int64_t>(segment_.header().timeout_ns);
  const std::int64_t patience_ns = std::min(kSayAfterNs, timeout_ns / 2);
  for (const LeaseRequest& request : leases_.take_overdue(platform::now_ns() - patience_ns)) {
    log_->warn("rank {} waits for {}; the buffer is full; {}", clients_[request.client].rank(),
               platform::format_bytes(request.bytes), who_holds_memory(request));
  }
}

std::string Server::who_holds_memory(const LeaseRequest& request) const {
  if (std::string script = scripts_.slowest(); !script.empty()) return script;
  if (std::string store = pipeline_.slowest(); !store.empty()) return store;
  const std::vector<std::uint32_t> behind = leases_.behind(request.iteration);
  if (behind.empty()) return "all of it is in use";
  std::string ranks;
  for (std::size_t i = 0; i < behind.size() && i < kMostNamed; ++i) {
    const bool comes = is_expected(clients_[behind[i]]);
    ranks += (i ? ", " : "") + name_of_rank(behind[i]) + (comes ? " (which has yet to come)" : "");
  }
  return fmt::format("iteration {} is not ended by {}{}", iterations_.current(behind[0]), ranks,
                     behind.size() > kMostNamed ? ", ..." : "");
}

void Server::release(const Block& block) {
  const bool is_on_disk = block.lease == 0;
  if (!is_on_disk) leases_.block_released(block.client, block.lease);
}

std::int64_t Server::oldest_unfinished() const noexcept {
  return held_.empty() ? iterations_.oldest() : *held_.begin();
}

void Server::give_leases() {
  for (const Grant& grant : leases_.serve()) {
    shm::Release release{};
    release.kind = static_cast<std::uint32_t>(shm::ReleaseKind::lease);
    release.flags = grant.request.flags;
    release.token = grant.request.token;
    release.offset = grant.extent.offset;
    release.bytes = grant.extent.bytes;
    if (!clients_[grant.request.client].release(release)) {
      leases_.seal(grant.request.client, grant.extent.offset, 0);
    }
  }
}

void Server::serve_requests() {
  for (;;) {
    give_leases();
    // Iterations that are complete but not yet passed on can free memory too.
    pass_on_complete();
    if (populate_for_waiting()) return;
    if (leases_.first_unmet() && offers_.withdraw_all()) continue;
    if (make_room()) continue;
    const std::optional<LeaseRequest> hopeless = leases_.take_hopeless(oldest_unfinished());
    if (!hopeless) return;
    give_up(*hopeless);
  }
}

// What the server before this one has taken and not leased is taken once more: that changes
// nothing.
void Server::start_populating() {
  leases_.withhold();
  const std::vector<shm::Extent> missing = leases_.missing();
  if (missing.empty()) return;
  populator_.add(missing);
  // On which memory node it is to lie is known when all ranks are there.
  if (!has_memory_nodes()) populate_in_background();
  // The first blocks wait for nothing.
  const shm::Extent& last = missing.back();
  populator_.take_one_in({missing.front().offset, 1});
  populator_.take_one_in({last.offset + last.bytes - 1, 1});
  take_populated();
}

int Server::take_memory(shm::Extent slice) const {
  if (platform::memory_room() < slice.bytes + kLeftToGroup) return ENOMEM;
  return segment_.take(slice.offset, slice.bytes);
}

void Server::take_populated() {
  if (!populator_.has_news()) return;
  const Populator::News news = populator_.take_news();
  for (const shm::Extent& slice : news.taken) leases_.supply(slice);
  for (const shm::Extent& slice : news.lost) leases_.forfeit(slice);
  if (news.code == 0) return;
  log_->warn(
      "of the buffer of {} only {} can be had: {}; the run goes on with a smaller buffer",
      platform::format_bytes(segment_.header().data_bytes),
      platform::format_bytes(leases_.total_bytes()),
      news.code == ENOMEM
          ? "the control group of this job (container, batch system) is near its memory limit"
          : fmt::format("/dev/shm: {}", platform::errno_text(news.code)));
}

// True as long as a rank waits for memory that may be there: until it is, the buffer is not full.
bool Server::populate_for_waiting() {
  const std::optional<shm::Extent> awaited = leases_.awaited_memory();
  if (awaited) populator_.take_one_in(*awaited);
  return awaited.has_value();
}

void Server::refuse(const LeaseRequest& request, shm::RefusalReason reason,
                    std::int64_t iteration) {
  shm::Release refusal{};
  refusal.kind = static_cast<std::uint32_t>(shm::ReleaseKind::refused);
  refusal.flags = static_cast<std::uint32_t>(reason);
  refusal.token = request.token;
  refusal.offset = static_cast<std::uint64_t>(iteration);
  refusal.bytes = std::max<std::uint64_t>(1, leases_.used_bytes());
  clients_[request.client].release(refusal);
}

}  // namespace leat::server
