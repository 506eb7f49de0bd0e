// SPDX-License-Identifier: Apache-2.0
#include "server/session/lease_book.hpp"

#include <algorithm>

namespace leat::server {
namespace {

// Of all memory, what nobody is given who has not asked for it.
constexpr std::uint64_t kLeftOfAhead = 4;
// Of a block, what whole units and the ends of regions take in addition.
constexpr std::uint64_t kRoundedUp = 4;

}  // namespace

LeaseBook::LeaseBook(const shm::SegmentHeader& header, std::uint32_t clients,
                     shm::LeaseTable* table)
    : regions_(header, clients, table),
      catch_up_(regions_, clients),
      common_bytes_(header.region_bytes) {}

bool LeaseBook::request(const LeaseRequest& request) {
  if (catch_up_.is_gone(request.client)) return true;
  LeaseRequest checked = request;
  // Common regions have one size; what the event says is a client's word.
  if (!request.is_own()) checked.bytes = common_bytes_;
  return requests_.add(checked);
}

bool LeaseBook::may_have(const LeaseRequest& request) {
  const std::uint64_t left = catch_up_.needed_until(request.iteration);
  return left == 0 || regions_.has_free(request.bytes, left);
}

std::vector<Grant> LeaseBook::serve() {
  std::vector<Grant> grants;
  while (const LeaseRequest* const first = requests_.first()) {
    std::optional<shm::Region> region;
    if (may_have(*first)) region = regions_.lease(first->client, first->bytes, first->flags);
    // Nobody overtakes: a large request of an old iteration would starve behind small ones.
    if (!region) break;
    grants.push_back({requests_.take_first(), *region});
  }
  return grants;
}

std::optional<shm::Region> LeaseBook::awaited_memory() {
  const LeaseRequest* const first = requests_.first_unmet();
  if (!first || !may_have(*first)) return std::nullopt;
  return regions_.awaited(first->client, first->bytes, first->flags);
}

std::optional<LeaseRequest> LeaseBook::take_hopeless(std::int64_t oldest_unfinished) {
  const LeaseRequest* const first = requests_.first_unmet();
  const bool has_hope = !first || first->iteration > oldest_unfinished ||
                        catch_up_.least() < first->iteration;  // somebody is behind
  if (has_hope) return std::nullopt;
  return requests_.take_first();
}

std::optional<shm::Region> LeaseBook::give_ahead(std::uint32_t client, std::uint64_t bytes,
                                                 std::uint32_t flags) {
  if (catch_up_.is_gone(client) || requests_.first()) return std::nullopt;
  // It is for the next iteration: what others need to come that far is not given away.
  const std::uint64_t left =
      std::max(catch_up_.needed_beside(client), regions_.total_bytes() / kLeftOfAhead);
  if (!regions_.has_free(bytes, left)) return std::nullopt;
  return regions_.lease(client, bytes, flags);
}

std::uint64_t LeaseBook::most_in_iteration(std::uint32_t client) const noexcept {
  const std::uint64_t blocks = catch_up_.most_in_iteration(client);
  return blocks + blocks / kRoundedUp + 2 * common_bytes_;
}

void LeaseBook::block_came(std::uint32_t client, std::uint64_t region, std::uint64_t bytes) {
  regions_.block_came(client, region, bytes);
  catch_up_.block_came(client, bytes);
}

void LeaseBook::client_gone(std::uint32_t client) {
  catch_up_.client_gone(client);
  requests_.forget(client);
  regions_.client_gone(client);
}

}  // namespace leat::server
