// SPDX-License-Identifier: Apache-2.0
#include "server/state/memory/memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/os/memory.hpp"
#include "lib/os/process.hpp"

namespace leat::server {
namespace {

// Of a huge page: none is cut in two.
constexpr std::uint64_t kSlice = 2 << 20;

}  // namespace

Prefaulter::Prefaulter(Take take, std::function<void()> wake)
    : take_(std::move(take)), wake_(std::move(wake)) {}

void Prefaulter::add(const std::vector<shm::Region>& ranges) {
  for (const shm::Region& range : ranges) {
    const std::uint64_t end = range.offset + range.bytes;
    for (std::uint64_t begin = range.offset; begin < end;) {
      const std::uint64_t next = std::min(end, (begin / kSlice + 1) * kSlice);
      todo_.push_back({begin, next - begin});
      begin = next;
    }
  }
}

void Prefaulter::start(Executor& executor, unsigned threads) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (todo_.empty()) return;
  }
  try {
    while (threads_.size() < threads)
      threads_.push_back(
          executor.run("leat memory", Executor::Urgency::background, [this] { run(); }));
  } catch (const std::system_error&) {
    // Memory is then taken as it is needed.
  }
}

void Prefaulter::stop() noexcept {
  stopping_.store(true, std::memory_order_relaxed);
  threads_.clear();  // joins them
}

void Prefaulter::run() {
  shm::Region slice;
  for (bool high = false; !stopping_.load(std::memory_order_relaxed) && claim(high, &slice);
       high = !high) {
    take(slice);
  }
}

bool Prefaulter::claim(bool high, shm::Region* slice) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (todo_.empty()) return false;
  const auto at = high ? std::prev(todo_.end()) : todo_.begin();
  *slice = *at;
  todo_.erase(at);
  return true;
}

void Prefaulter::take_one_in(shm::Region range) {
  shm::Region slice;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto at = std::find_if(todo_.begin(), todo_.end(), [&](const shm::Region& each) {
      return each.offset + each.bytes > range.offset;
    });
    if (at == todo_.end() || at->offset >= range.offset + range.bytes) return;
    slice = *at;
    todo_.erase(at);
  }
  take(slice);
}

void Prefaulter::take(shm::Region slice) {
  settle(slice, take_(slice));
  wake_();
}

void Prefaulter::settle(shm::Region slice, int code) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (code == 0) {
    news_.taken.push_back(slice);
  } else {
    news_.code = code;
    news_.lost.push_back(slice);
    news_.lost.insert(news_.lost.end(), todo_.begin(), todo_.end());
    todo_.clear();
  }
  has_news_.store(true, std::memory_order_release);
}

Prefaulter::News Prefaulter::take_news() {
  const std::lock_guard<std::mutex> lock(mutex_);
  has_news_.store(false, std::memory_order_relaxed);
  return std::exchange(news_, {});
}

Offers::Offers(const shm::Segment& segment, LeaseBook& leases)
    : leases_(leases), clients_(segment.header().client_count) {
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    for (shm::OfferSlot& slot : segment.client(i).offers) clients_[i].slots.emplace_back(slot);
  }
}

std::uint64_t Offers::standing_bytes(const Client& client) noexcept {
  std::uint64_t bytes = 0;
  for (const shm::OfferGiver& slot : client.slots) bytes += slot.stands() ? slot.region().bytes : 0;
  return bytes;
}

bool Offers::withdraw(std::uint32_t client, shm::OfferGiver& slot) {
  const bool is_ours = slot.withdraw();
  if (is_ours) leases_.regions().seal(client, slot.region().offset, 0);
  return is_ours;
}

bool Offers::withdraw_oldest(std::uint32_t client) {
  Client& owner = clients_[client];
  const std::size_t count = owner.slots.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (withdraw(client, owner.slots[(owner.next + i) % count])) return true;
  }
  return false;
}

// What nobody has claimed for long is of a size that is not written any more: it makes way.
void Offers::replace(std::uint32_t client, std::uint64_t bytes, std::uint32_t flags) {
  const Kind kind{bytes, flags};
  ++clients_[client].used[kind].now;
  while (!has_room_for(client, kind) && withdraw_oldest(client)) {
  }
  offer(client, kind);
}

bool Offers::has_room_for(std::uint32_t client, const Kind& kind) const noexcept {
  return standing_bytes(clients_[client]) + kind.first <= leases_.most_in_iteration(client);
}

// One that was replaced at once may have been claimed in the same iteration already: then fewer
// stand than the next one needs.
void Offers::iteration_ended(std::uint32_t client) {
  Client& owner = clients_[client];
  if (owner.used.size() > shm::kOffers) owner.used.clear();  // sizes that do not come again
  for (auto& [kind, used] : owner.used) {
    used.most = std::max(used.most, std::exchange(used.now, 0));
    for (std::uint32_t each = standing(owner, kind); each < used.most; ++each) {
      if (!has_room_for(client, kind) || !offer(client, kind)) return;
    }
  }
}

std::uint32_t Offers::standing(const Client& client, const Kind& kind) noexcept {
  std::uint32_t count = 0;
  for (const shm::OfferGiver& slot : client.slots)
    count += slot.stands() && slot.region().bytes == kind.first && slot.flags() == kind.second;
  return count;
}

bool Offers::offer(std::uint32_t client, const Kind& kind) {
  const auto [bytes, flags] = kind;
  Client& owner = clients_[client];
  shm::OfferGiver& slot = owner.slots[owner.next];
  withdraw(client, slot);
  const std::optional<shm::Region> region = leases_.give_ahead(client, bytes, flags);
  if (!region) return false;
  slot.offer(*region, flags);
  owner.any = true;
  owner.next = (owner.next + 1) % owner.slots.size();
  return true;
}

bool Offers::withdraw_all() {
  bool any = false;
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    if (!std::exchange(clients_[i].any, false)) continue;
    for (shm::OfferGiver& slot : clients_[i].slots) any |= withdraw(i, slot);
  }
  return any;
}

void Offers::client_gone(std::uint32_t client) {
  for (shm::OfferGiver& slot : clients_[client].slots) withdraw(client, slot);
}

std::vector<std::uint64_t> Offers::take_over(std::uint32_t client) {
  std::vector<std::uint64_t> withdrawn;
  for (shm::OfferGiver& slot : clients_[client].slots) {
    if (const shm::Region region = slot.take_over(); region.bytes != 0)
      withdrawn.push_back(region.offset);
  }
  return withdrawn;
}

namespace {

// More threads than this only wait for one another in the kernel.
constexpr std::int64_t kMostPrefaulting = 4;
// Left to a control group that has a limit: the kernel kills one of its processes at the limit.
constexpr std::uint64_t kLeftToGroup = 8 << 20;

}  // namespace

Memory::Memory(const Run& run, Clients& clients, const std::function<void()>& wake)
    : run_(run),
      clients_(clients),
      lease_table_(run.segment),
      leases_(run.segment.header(), clients.size(), &lease_table_),
      offers_(run.segment, leases_),
      prefaulter_([this](shm::Region slice) { return take(slice); }, wake) {}

void Memory::give() {
  for (const Grant& grant : leases_.serve()) {
    if (!grant.request.is_ahead()) waited_ns_ += run_.now_ns - grant.request.since_ns;
    shm::Release release{};
    release.kind = static_cast<std::uint32_t>(shm::ReleaseKind::lease);
    release.flags = grant.request.flags;
    release.token = grant.request.token;
    release.offset = grant.region.offset;
    release.bytes = grant.region.bytes;
    if (!clients_[grant.request.client].release(release)) {
      regions().seal(grant.request.client, grant.region.offset, 0);
    }
  }
}

void Memory::refuse(const LeaseRequest& request, shm::RefusalReason reason,
                    std::int64_t iteration) {
  shm::Release refusal{};
  refusal.kind = static_cast<std::uint32_t>(shm::ReleaseKind::refused);
  refusal.flags = static_cast<std::uint32_t>(reason);
  refusal.token = request.token;
  refusal.offset = static_cast<std::uint64_t>(iteration);
  refusal.bytes = std::max<std::uint64_t>(1, regions().used_bytes());
  clients_[request.client].release(refusal);
}

void Memory::answer_dropped(const LeaseRequest& request) {
  shm::Release answer{};
  answer.kind = static_cast<std::uint32_t>(shm::ReleaseKind::dropped);
  answer.token = request.token;
  answer.offset = static_cast<std::uint64_t>(request.iteration);
  clients_[request.client].release(answer);
}

void Memory::release(const Block& block) {
  const bool is_on_disk = block.lease == 0;
  if (!is_on_disk) regions().block_released(block.client, block.lease);
}

void Memory::block_came(std::uint32_t client, std::uint64_t lease, std::uint64_t bytes) {
  leases_.block_came(client, lease, bytes);
  if (const std::uint64_t own = regions().bytes_of_own(client, lease))
    offers_.replace(client, own, shm::kLeaseOwn);
}

// One that a server which has died did not read may speak of an earlier lease of that memory.
void Memory::sealed(std::uint32_t client, const shm::Event& event) {
  if (event.token != lease_table_.id_at(event.offset)) return;
  regions().seal(client, event.offset, event.bytes);
  const bool was_used = event.bytes > 0;
  if (was_used) offers_.replace(client, run_.segment.header().region_bytes, shm::kLeaseCommon);
}

void Memory::iteration_ended(std::uint32_t client, std::int64_t iteration) {
  leases_.iteration_ended(client, iteration);
  offers_.iteration_ended(client);
}

void Memory::client_gone(std::uint32_t client) {
  offers_.client_gone(client);
  leases_.client_gone(client);
}

// What the server before this one has taken and not leased is taken once more: that changes
// nothing.
void Memory::start_prefaulting() {
  regions().withhold();
  const std::vector<shm::Region> missing = regions().missing();
  if (missing.empty()) return;
  prefaulter_.add(missing);
  // The first blocks wait for nothing.
  const shm::Region& last = missing.back();
  prefaulter_.take_one_in({missing.front().offset, 1});
  prefaulter_.take_one_in({last.offset + last.bytes - 1, 1});
  take_prefaulted();
}

void Memory::prefault_in_background() {
  prefaulter_.start(run_.executor,
                    static_cast<unsigned>(std::clamp<std::int64_t>(
                        run_.model.architecture.dedicated_cores, 1, kMostPrefaulting)));
}

int Memory::take(shm::Region slice) const {
  if (os::memory_room() < slice.bytes + kLeftToGroup) return ENOMEM;
  return run_.segment.take(slice.offset, slice.bytes);
}

void Memory::take_prefaulted() {
  if (!prefaulter_.has_news()) return;
  const Prefaulter::News news = prefaulter_.take_news();
  for (const shm::Region& slice : news.taken) regions().supply(slice);
  for (const shm::Region& slice : news.lost) regions().forfeit(slice);
  if (news.code == 0) return;
  run_.log->warn(
      "of the buffer of {} only {} can be had: {}; the run continues with a smaller buffer",
      format_bytes(run_.segment.header().data_bytes), format_bytes(regions().total_bytes()),
      news.code == ENOMEM
          ? "the control group of this job (container, batch system) is near its memory limit"
          : fmt::format("/dev/shm: {}", os::errno_text(news.code)));
}

bool Memory::prefault_for_waiting() {
  const std::optional<shm::Region> awaited = leases_.awaited_memory();
  if (awaited) prefaulter_.take_one_in(*awaited);
  return awaited.has_value();
}

}  // namespace leat::server
