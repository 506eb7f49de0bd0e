// SPDX-License-Identifier: Apache-2.0
#include "client-api/collectives.hpp"

#include "lib/os/clock.hpp"

namespace leat::client {

void Collectives::passed(std::int64_t ranks) noexcept {
  if (ranks != 0 && ranks != ranks_) return;
  lane_.collective_ns.store(platform::now_ns(), std::memory_order_relaxed);
  // Against one that looks and then sleeps: either it sees the number, or we see that it waits.
  lane_.collectives.store(lane_.collectives.load(std::memory_order_relaxed) + 1,
                          std::memory_order_seq_cst);
  if (server_.coordinated.load(std::memory_order_seq_cst) > 0)
    platform::futex_wake_all(lane_.collectives);
}

void Collectives::iteration_ends(std::int64_t iteration) noexcept {
  const std::uint32_t count = lane_.collectives.load(std::memory_order_relaxed);
  if (count == 0) return;
  shm::EndRecord& record = lane_.ended[static_cast<std::uint64_t>(iteration) % shm::kEndRecords];
  record.iteration.store(0, std::memory_order_seq_cst);
  record.collectives.store(count, std::memory_order_seq_cst);
  record.iteration.store(iteration + 1, std::memory_order_seq_cst);
}

}  // namespace leat::client
