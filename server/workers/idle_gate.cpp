// SPDX-License-Identifier: Apache-2.0
#include "server/workers/idle_gate.hpp"

#include <algorithm>
#include <utility>

#include "lib/platform/clock.hpp"
#include "lib/platform/futex.hpp"
#include "server/workers/rank_state.hpp"

namespace leat::server {
namespace {

// Ranks wake those that sleep on their own word; what else lets them work is seen after that.
constexpr std::int64_t kLookAgainNs = 10'000'000;

}  // namespace

IdleGate::IdleGate(const shm::Segment& segment, int cores) noexcept
    : segment_(segment), ranks_(segment.header().client_count), cores_(cores) {}

bool IdleGate::is_idle(std::uint32_t client) const noexcept {
  const shm::ClientArea rank = segment_.client(client);
  return rank.client->idle_phase.load(std::memory_order_seq_cst) % 2 == 1 || waits_for_leat(rank) ||
         !is_attached(rank);
}

// Of those that idle, the share of the node's cores.
int IdleGate::idle_cores() const noexcept {
  std::uint32_t idle = 0;
  for (std::uint32_t client = 0; client < ranks_; ++client) idle += is_idle(client) ? 1 : 0;
  const auto ranks = static_cast<std::int64_t>(ranks_);
  return static_cast<int>((static_cast<std::int64_t>(idle) * cores_ + ranks - 1) / ranks);
}

// On the word of some rank that does not idle.
void IdleGate::sleep() noexcept {
  const std::uint32_t first = next_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < ranks_; ++i) {
    const std::uint32_t client = (first + i) % ranks_;
    const std::atomic<std::uint32_t>& word = segment_.client(client).client->idle_phase;
    const std::uint32_t seen = word.load(std::memory_order_seq_cst);
    if (!is_idle(client) && seen % 2 == 0) return platform::futex_wait(word, seen, kLookAgainNs);
  }
  platform::pause_shortly();  // all idle, and all that they leave is in use
}

void IdleGate::await() noexcept {
  while (idle_cores() == 0) sleep();
}

std::int64_t IdleGate::enter() noexcept {
  for (;; sleep()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (at_work_ >= idle_cores()) continue;
    ++at_work_;
    return platform::now_ns();
  }
}

void IdleGate::leave(std::int64_t begun_ns) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::int64_t ns = platform::now_ns() - begun_ns;
  work_.ns += ns;
  ++work_.pieces;
  if (at_work_ > idle_cores()) {
    ++work_.outlasted;
    work_.longest_outlasted_ns = std::max(work_.longest_outlasted_ns, ns);
  }
  --at_work_;
}

IdleGate::Work IdleGate::take_work() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(work_, {});
}

// What comes behind the pieces waits as they do.
std::string GatedTeam::run(std::uint64_t pieces, const Piece& piece, const IsLate& is_late) {
  const Piece gated = [&](std::uint64_t number) {
    const IdleGate::Place place(gate_);
    return piece(number);
  };
  std::string error = team_.run(pieces, gated, is_late);
  gate_.await();
  return error;
}

}  // namespace leat::server
