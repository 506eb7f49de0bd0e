// SPDX-License-Identifier: Apache-2.0
#include "lib/os/clock.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <string>

namespace leat::os {
namespace {

std::int64_t read(clockid_t clock) noexcept {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

void give_way() noexcept { sched_yield(); }

void pause_shortly() noexcept {
  const timespec pause{0, 2'000'000};
  nanosleep(&pause, nullptr);
}

std::int64_t now_ns() noexcept { return read(CLOCK_MONOTONIC); }

std::int64_t last_tick_ns() noexcept { return read(CLOCK_MONOTONIC_COARSE); }

std::int64_t processor_time_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

std::int64_t without_core_ns(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/schedstat");
  std::int64_t worked = 0, waited = 0;
  return file >> worked >> waited ? waited : 0;
}

int left_ms(std::int64_t deadline_ns) noexcept {
  const std::int64_t left_ns = deadline_ns - now_ns();
  if (left_ns <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>(left_ns / 1'000'000 + 1, INT_MAX));
}

std::int64_t Deadline::left_ns() const noexcept {
  return std::max<std::int64_t>(0, at_ - now_ns());
}

void sleep_ns(std::int64_t ns) noexcept {
  const timespec pause{static_cast<time_t>(ns / 1'000'000'000),
                       static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&pause, nullptr);
}

static_assert(sizeof(std::atomic<std::uint32_t>) == 4, "a futex is the bare word");

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t timeout_ns) noexcept {
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace leat::os
