// SPDX-License-Identifier: Apache-2.0
#include "server/state/memory/prefaulter.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <system_error>
#include <utility>

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

}  // namespace leat::server
