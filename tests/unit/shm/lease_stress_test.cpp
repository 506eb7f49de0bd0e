// SPDX-License-Identifier: Apache-2.0
// A client that cuts blocks from leased regions and a server that frees them, over real memory:
// every block's bytes must be what the client wrote, so no region may be leased again while a block
// in it is read.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "lib/shm/leases.hpp"
#include "lib/shm/spsc_ring.hpp"
#include "tests/unit/shm/two_threads.hpp"

namespace leat::shm {
namespace {

constexpr std::uint32_t kSlots = 8;
constexpr std::uint64_t kUnit = 4096, kCommon = 4 * kUnit, kBytes = 64 * kUnit;
constexpr std::uint64_t kBlocks = 40000, kBase = 1 << 20;

struct Shared {
  std::vector<char> memory = std::vector<char>(kBytes);
  std::vector<Event> events{kSlots};
  std::vector<Release> releases{kSlots};
  std::atomic<std::uint64_t> event_tail{0}, event_head{0}, release_tail{0}, release_head{0};
  std::atomic<bool> client_gone{false}, server_gone{false};
  char& at(std::uint64_t offset) { return memory[offset - kBase]; }
};

class Server {
 public:
  explicit Server(Shared& shared) : shared_(shared) {}

  void run() {
    const SaysItIsGone end(shared_.server_gone);
    RingConsumer<Event> events(shared_.events.data(), kSlots, shared_.event_tail,
                               shared_.event_head);
    Event event;
    while (seen_ < kBlocks && !testing::Test::HasFatalFailure()) {
      ASSERT_TRUE(try_until([&] { return events.pop(event); }, shared_.client_gone))
          << seen_ << " blocks came";
      events.publish();
      handle(event);
    }
  }

 private:
  struct Lease {
    std::uint64_t bytes = 0, came = 0, expected = 0;
    bool sealed = false;
  };

  void handle(const Event& event) {
    if (event.kind == static_cast<std::uint32_t>(EventKind::lease_request)) return lease();
    if (event.kind == static_cast<std::uint32_t>(EventKind::seal)) return seal(event);
    block(event);
  }

  void lease() {
    const auto region = pool_.take_low(kCommon);
    ASSERT_TRUE(region) << "sealed and read regions must have come back";
    leases_[region->offset].bytes = region->bytes;
    ASSERT_TRUE(releases_.push(Release{1, 0, 0, region->offset, region->bytes}));
  }

  void seal(const Event& event) {
    Lease& lease = leases_.at(event.offset);
    lease.sealed = true;
    lease.expected = event.bytes;
    free_if_done(event.offset);
  }

  void block(const Event& event) {
    for (std::uint64_t i = 0; i < event.bytes; ++i) {
      ASSERT_EQ(shared_.at(event.offset + i), static_cast<char>(event.token + i));
    }
    const std::uint64_t region = std::prev(leases_.upper_bound(event.offset))->first;
    ++leases_.at(region).came;
    ++seen_;
    free_if_done(region);
  }

  void free_if_done(std::uint64_t region) {
    const Lease lease = leases_.at(region);
    if (!lease.sealed || lease.came != lease.expected) return;
    pool_.give_back({region, lease.bytes});
    leases_.erase(region);
  }

  Shared& shared_;
  RingProducer<Release> releases_{shared_.releases.data(), kSlots, shared_.release_tail,
                                  shared_.release_head};
  LeasePool pool_{kBase, kBytes, kUnit};
  std::map<std::uint64_t, Lease> leases_;
  std::uint64_t seen_ = 0;
};

class Client {
 public:
  explicit Client(Shared& shared) : shared_(shared) {}

  // Cuts a block, fills it and hands it over. False when the server is gone.
  bool hand_over(std::uint64_t block) {
    const std::uint64_t bytes = 64 * (1 + block * 7 % 40);
    std::uint64_t offset = 0;
    while ((offset = arena_.cut(bytes)) == 0) {
      if (!next_extent()) return false;
    }
    for (std::uint64_t i = 0; i < bytes; ++i) shared_.at(offset + i) = static_cast<char>(block + i);
    return push(EventKind::block, offset, bytes, block);
  }

 private:
  bool next_extent() {
    Seal seal;
    if (arena_.replace(&seal)) {
      return seal.offset == 0 || push(EventKind::seal, seal.offset, seal.blocks, 0);
    }
    Release release;
    return push(EventKind::lease_request, 0, kCommon, 0) &&
           try_until([&] { return releases_.pop(release); }, shared_.server_gone) &&
           releases_.publish() && arena_.add({release.offset, release.bytes});
  }

  bool push(EventKind kind, std::uint64_t offset, std::uint64_t bytes, std::uint64_t token) {
    Event event{};
    event.kind = static_cast<std::uint32_t>(kind);
    event.offset = offset;
    event.bytes = bytes;
    event.token = token;
    return try_until([&] { return events_.push(event); }, shared_.server_gone);
  }

  Shared& shared_;
  RingProducer<Event> events_{shared_.events.data(), kSlots, shared_.event_tail,
                              shared_.event_head};
  RingConsumer<Release> releases_{shared_.releases.data(), kSlots, shared_.release_tail,
                                  shared_.release_head};
  RegionArena arena_{kCommon};
};

TEST(ShmStress, MemoryIsNeverLeasedAgainWhileABlockInItIsRead) {
  Shared shared;
  Server server(shared);
  const std::jthread serving([&server] { server.run(); });
  const SaysItIsGone end(shared.client_gone);
  Client client(shared);
  for (std::uint64_t block = 0; block < kBlocks; ++block) ASSERT_TRUE(client.hand_over(block));
}

}  // namespace
}  // namespace leat::shm
