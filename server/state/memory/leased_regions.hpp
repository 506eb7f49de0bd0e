// SPDX-License-Identifier: Apache-2.0
// Which regions of the segment are leased to whom, and who still reads a block.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "lib/shm/leases.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

// Who still reads a block: plugins, scripts. Blocks go back to the event loop, which owns the
// segment, when the last of them has let go, on whatever thread that is.

/// Blocks of one iteration that nobody reads any more.
struct Returned {
  std::int64_t iteration = 0;
  std::vector<Block> blocks;
};

class BlockPins {
 public:
  /// `wake` is called from any thread after a return; it must be quick. Pins may outlive this
  /// object.
  explicit BlockPins(std::function<void()> wake);

  /// Gives each variable of the iteration a pin of its own.
  void pin(Iteration* iteration);
  /// A pin of what lies where this block would, and is of this iteration.
  std::shared_ptr<const void> pin(std::int64_t iteration, const Block& block) const {
    return std::shared_ptr<Pin>(new Pin{queue_, {iteration, {block}}});
  }

  /// Cheap enough to be asked in a loop.
  bool any_returned() const noexcept { return queue_->any.load(std::memory_order_relaxed); }
  std::vector<Returned> take_returned();

 private:
  struct Queue {
    explicit Queue(std::function<void()> wake_up) : wake(std::move(wake_up)) {}
    std::function<void()> wake;
    std::mutex mutex;
    std::vector<Returned> returned;
    std::atomic<bool> any{false};
  };
  struct Pin {
    std::shared_ptr<Queue> queue;
    Returned blocks;
    ~Pin();
  };

  std::shared_ptr<Queue> queue_;
};

// Which regions of the segment are leased to whom. One returns to the pool when it is sealed, all
// its blocks have come, and all are released. Private to the engine's thread.
class LeasedRegions {
 public:
  /// `table`, when given, is kept in step for a server that takes over.
  LeasedRegions(const shm::SegmentHeader& header, std::uint32_t clients, shm::LeaseTable* table)
      : pool_(header.data_offset, header.data_bytes, header.unit_bytes),
        clients_(clients),
        table_(table) {}

  /// A lease that a server which has died had given; false when it makes no sense.
  bool adopt(const shm::Lease& lease);
  /// Adopted regions of this client, for one block each or for many.
  std::vector<shm::Region> adopted(std::uint32_t client, bool own) const;

  /// Where the client's memory lies by preference; the last range is for large blocks. What does
  /// not fit there lies elsewhere: no rank waits while there is memory.
  void prefer(std::uint32_t client, std::vector<shm::Region> near) {
    clients_[client].near = std::move(near);
  }
  /// Nothing when there is no such range. `flags`: shm::LeaseFlags.
  std::optional<shm::Region> lease(std::uint32_t client, std::uint64_t bytes, std::uint32_t flags);
  /// Where it would be, when there is no memory for it there yet.
  std::optional<shm::Region> awaited(std::uint32_t client, std::uint64_t bytes,
                                     std::uint32_t flags) const;

  /// The start of the leased region that holds [offset, offset + bytes) of this client; 0 when
  /// there is none, or when with these bytes more came from the region than it has: no client uses
  /// the same bytes twice, and so it has no more blocks than memory.
  std::uint64_t region_of(std::uint32_t client, std::uint64_t offset, std::uint64_t bytes) const;
  /// Of the leased region of this client that begins there; 0: there is none.
  std::uint64_t bytes_of(std::uint32_t client, std::uint64_t region) const;
  /// The same when it is for one block only.
  std::uint64_t bytes_of_own(std::uint32_t client, std::uint64_t region) const;

  void seal(std::uint32_t client, std::uint64_t region, std::uint64_t blocks);
  void block_came(std::uint32_t client, std::uint64_t region, std::uint64_t bytes);
  void block_released(std::uint32_t client, std::uint64_t region);
  /// The client has ended: no more blocks will come from it.
  void client_gone(std::uint32_t client);

  /// After adopt(): there is no memory yet for what is free, and nothing of it is given until it is
  /// supplied.
  void withhold() { pool_.withhold(); }
  std::vector<shm::Region> missing() const { return pool_.missing(); }
  void supply(shm::Region part) { pool_.supply(part); }
  /// There will be none: the buffer is smaller by that.
  void forfeit(shm::Region part) { pool_.forfeit(part); }

  std::uint64_t used_bytes() const noexcept { return pool_.total_bytes() - pool_.free_bytes(); }
  /// At any time.
  std::uint64_t most_used_bytes() const noexcept { return most_used_; }
  std::uint64_t total_bytes() const noexcept { return pool_.total_bytes(); }
  /// So many bytes more can be leased, and at least `left` stay free.
  bool has_free(std::uint64_t bytes, std::uint64_t left) const noexcept {
    return pool_.free_bytes() >= left && pool_.free_bytes() - left >= pool_.round_up(bytes);
  }

 private:
  struct Lease {
    std::uint64_t bytes = 0;
    bool own = false;
    bool adopted = false;
    bool sealed = false;
    std::uint64_t expected = 0, came = 0, live = 0;
    std::uint64_t came_bytes = 0;
  };
  struct Client {
    std::map<std::uint64_t, Lease> leases;
    std::vector<shm::Region> near;
  };

  const Lease* find(std::uint32_t client, std::uint64_t region) const;
  void free_if_done(Client& client, std::uint64_t region);

  shm::LeasePool pool_;
  std::vector<Client> clients_;
  shm::LeaseTable* table_;
  std::uint64_t most_used_ = 0;
};

}  // namespace leat::server
