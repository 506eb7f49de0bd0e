// SPDX-License-Identifier: Apache-2.0
// Two threads that wait for each other and end when the other gives up: a test that finds a fault
// fails, it does not hang.
#pragma once

#include <atomic>
#include <thread>

namespace leat::shm {

/// Sets the flag when its thread is through with its part, or leaves it by a failed assertion.
class SaysItIsGone {
 public:
  explicit SaysItIsGone(std::atomic<bool>& flag) : flag_(flag) {}
  ~SaysItIsGone() { flag_ = true; }
  SaysItIsGone(const SaysItIsGone&) = delete;
  SaysItIsGone& operator=(const SaysItIsGone&) = delete;

 private:
  std::atomic<bool>& flag_;
};

/// Tries until `done()` is true. False when the other side was gone before the last try.
template <class Done>
bool try_until(Done done, const std::atomic<bool>& other_is_gone) {
  for (;;) {
    const bool last = other_is_gone;
    if (done()) return true;
    if (last) return false;
    std::this_thread::yield();
  }
}

}  // namespace leat::shm
