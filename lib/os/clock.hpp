// SPDX-License-Identifier: Apache-2.0
// Monotonic time, deadlines, and sleeping on a word of shared memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace leat::os {

// Monotonic time and deadlines.

/// Nanoseconds of CLOCK_MONOTONIC; no system call on Linux (vDSO).
std::int64_t now_ns() noexcept;

/// The same, as it was at the last tick of the kernel, some milliseconds ago at most: cheaper.
std::int64_t last_tick_ns() noexcept;

/// Tells the processor that this thread only looks for a change in memory: its other hardware
/// thread and its power go to others.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" : : : "memory");
#endif
}

/// Processor time that this process has had so far, all threads of it.
std::int64_t processor_time_ns() noexcept;

/// How long the first thread of a process could have worked while others had the cores, since it
/// began; 0 of one that is gone, and where the kernel does not count it. proc_pid_schedstat(5).
std::int64_t without_core_ns(int process);

/// Lets another thread run that waits for this processor; returns at once when there is none.
void give_way() noexcept;

/// Sleeps for 2 ms: for what another process does soon and does not tell, as letting go of a lock.
void pause_shortly() noexcept;

/// Sleeps; a signal may end it early.
void sleep_ns(std::int64_t ns) noexcept;

/// What poll() may wait till `deadline_ns` of now_ns(), in milliseconds and rounded up; 0 when that
/// has passed.
int left_ms(std::int64_t deadline_ns) noexcept;

/// A point in time that waiting must not pass.
class Deadline {
 public:
  static Deadline in_ns(std::int64_t ns) noexcept { return Deadline(now_ns() + ns); }
  bool passed() const noexcept { return now_ns() >= at_; }
  /// Never negative.
  std::int64_t left_ns() const noexcept;
  /// For poll(): rounded up, so that the deadline has passed when it is 0.
  int left_ms() const noexcept { return os::left_ms(at_); }

 private:
  explicit Deadline(std::int64_t at) noexcept : at_(at) {}
  std::int64_t at_;
};

/// How long one call may still wait, over all the waits it makes. The clock is read at the first
/// wait, so that calls which never wait never read it.
class WaitBudget {
 public:
  explicit WaitBudget(std::int64_t limit_ns) noexcept : limit_ns_(limit_ns) {}
  /// 0 when it is at its end.
  std::int64_t left_ns() noexcept {
    if (started_ns_ == 0) started_ns_ = now_ns();
    const std::int64_t left = started_ns_ + limit_ns_ - now_ns();
    return left > 0 ? left : 0;
  }
  std::int64_t waited_ns() noexcept { return limit_ns_ - left_ns(); }

 private:
  std::int64_t limit_ns_;
  std::int64_t started_ns_ = 0;
};

// Sleeping on a 32-bit word of shared memory. The kernel keeps the queue, so a process that is killed while it sleeps
// or wakes others leaves nothing behind.

/// Sleeps while `word` is `expected`, at most `timeout_ns`. May return early for no reason: the caller checks again.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t timeout_ns) noexcept;

/// Wakes all that sleep on `word`, in every process that maps it.
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

}  // namespace leat::os
