// SPDX-License-Identifier: Apache-2.0
// Sleeping on a 32-bit word of shared memory. The kernel keeps the queue, so a process that is killed while it sleeps
// or wakes others leaves nothing behind.
#pragma once

#include <atomic>
#include <cstdint>

namespace leat::platform {

/// Sleeps while `word` is `expected`, at most `timeout_ns`. May return early for no reason: the caller checks again.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t timeout_ns) noexcept;

/// Wakes all that sleep on `word`, in every process that maps it.
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

}  // namespace leat::platform
