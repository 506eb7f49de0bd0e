// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/idle_phases.hpp"

#include <functional>

#include "lib/platform/clock.hpp"
#include "lib/platform/futex.hpp"

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

namespace {

// Others take a core within microseconds, and what they leave behind in the caches is gone again in
// some hundred.
constexpr std::int64_t kWorthNs = 1'000'000;

// The one writer of the word.
void add(std::atomic<std::uint64_t>* word, std::uint64_t more) noexcept {
  word->store(word->load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

bool IdlePhases::Site::is_worth_it() const noexcept {
  return phases > 0 && ns >= kWorthNs * static_cast<std::int64_t>(phases);
}

// By its hash alone: two sites that share one are as good as one site.
IdlePhases::Site& IdlePhases::site_of(std::string_view name) noexcept {
  const std::uint64_t hash = std::hash<std::string_view>()(name) | 1;
  for (std::size_t i = 0; i < kSites - 1; ++i) {
    Site& site = sites_[(hash + i) % (kSites - 1)];
    if (site.name == hash) return site;
    if (site.name != 0) continue;
    site.name = hash;
    return site;
  }
  return sites_[kSites - 1];
}

void IdlePhases::begin(std::string_view site) noexcept {
  if (depth_++ > 0) return;
  current_ = &site_of(site);
  begun_ns_ = platform::now_ns();
  is_told_ = current_->is_worth_it();
  if (!is_told_) return;
  // Against one that looks and then sleeps: either it sees the phase, or we see that it has work.
  lane_.idle_phase.store(lane_.idle_phase.load(std::memory_order_relaxed) + 1,
                         std::memory_order_seq_cst);
  if (server_.harvesters.load(std::memory_order_seq_cst) > 0)
    platform::futex_wake_all(lane_.idle_phase);
}

void IdlePhases::end() noexcept {
  if (depth_ == 0 || --depth_ > 0) return;
  if (is_told_)
    lane_.idle_phase.store(lane_.idle_phase.load(std::memory_order_relaxed) + 1,
                           std::memory_order_release);
  const std::int64_t ns = platform::now_ns() - begun_ns_;
  const bool was_known = current_->phases > 0;
  ++current_->phases;
  current_->ns += ns;
  add(&lane_.idle_ns, static_cast<std::uint64_t>(ns));
  add(&lane_.idle_phases, 1);
  if (!is_told_) add(&lane_.left_alone, 1);
  if (was_known && is_told_ != (ns >= kWorthNs)) add(&lane_.mispredicted, 1);
}

}  // namespace leat::client
