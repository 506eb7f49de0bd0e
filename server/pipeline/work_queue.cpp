// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/work_queue.hpp"

#include <algorithm>
#include <utility>

namespace leat::server {
namespace {

// A store may hold on to memory until its outcome comes.
constexpr std::size_t kMostExpected = 64;

std::int64_t iteration_of_work(const Work& work) {
  if (const auto* const iteration = std::get_if<Iteration>(&work)) return iteration->number;
  if (const auto* const delivery = std::get_if<Delivery>(&work)) return delivery->iteration;
  return std::get<Publication>(work).iteration;
}

}  // namespace

void WorkQueue::submit(Work work) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(std::move(work));
  changed_.notify_one();
}

void WorkQueue::expect() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++expected_;
}

void WorkQueue::deliver(Delivery delivery) {
  const std::lock_guard<std::mutex> lock(mutex_);
  deliveries_.push_back(std::move(delivery));
  changed_.notify_one();
}

void WorkQueue::delivered() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --expected_;
  changed_.notify_one();
}

bool WorkQueue::is_abandoned() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return abandoned_;
}

void WorkQueue::abandon() {
  const std::lock_guard<std::mutex> lock(mutex_);
  abandoned_ = true;
  changed_.notify_one();
}

void WorkQueue::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closing_ = true;
  changed_.notify_one();
}

bool WorkQueue::next(Work* work) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] {
    const std::size_t expected = abandoned_ ? 0 : expected_;
    return !deliveries_.empty() || (!waiting_.empty() && expected < kMostExpected) ||
           (closing_ && waiting_.empty() && expected == 0);
  });
  if (!deliveries_.empty()) {
    *work = std::move(deliveries_.front());
    deliveries_.pop_front();
  } else if (!waiting_.empty()) {
    *work = std::move(waiting_.front());
    waiting_.pop_front();
  } else {
    return false;
  }
  under_way_ = iteration_of_work(*work);
  return true;
}

void WorkQueue::finished() {
  const std::lock_guard<std::mutex> lock(mutex_);
  under_way_.reset();
}

void WorkQueue::await(const std::function<bool(bool somebody_waits)>& enough) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return enough(ranks_wait_ || count_iterations() > 0); });
}

void WorkQueue::press(bool ranks_wait) {
  if (ranks_wait_.load(std::memory_order_relaxed) == ranks_wait) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  ranks_wait_ = ranks_wait;
  changed_.notify_one();
}

void WorkQueue::nudge() {
  const std::lock_guard<std::mutex> lock(mutex_);
  changed_.notify_one();
}

std::size_t WorkQueue::iterations_waiting() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return count_iterations();
}

bool WorkQueue::has(std::int64_t first, std::int64_t last) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto is_among = [first, last](const std::optional<std::int64_t>& iteration) {
    return iteration && *iteration >= first && *iteration <= last;
  };
  return is_among(under_way_) ||
         std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const Work& work) { return is_among(iteration_of_work(work)); });
}

std::size_t WorkQueue::count_iterations() const {
  return static_cast<std::size_t>(
      std::count_if(waiting_.begin(), waiting_.end(),
                    [](const Work& work) { return std::holds_alternative<Iteration>(work); }));
}

std::optional<Iteration> WorkQueue::take_oldest(const Which& which) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
    auto* const iteration = std::get_if<Iteration>(&*each);
    if (!iteration || !which(*iteration)) continue;
    std::optional<Iteration> taken = std::move(*iteration);
    waiting_.erase(each);
    return taken;
  }
  return std::nullopt;
}

std::vector<Publication> WorkQueue::take_undeclared(std::int64_t iteration) {
  std::vector<Publication> taken;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(waiting_, [&](Work& work) {
    auto* const publication = std::get_if<Publication>(&work);
    const bool is_it =
        publication && publication->iteration == iteration && is_undeclared(*publication);
    if (is_it) taken.push_back(std::move(*publication));
    return is_it;
  });
  return taken;
}

std::optional<Iteration> WorkQueue::newest(const Which& which) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto each = waiting_.rbegin(); each != waiting_.rend(); ++each) {
    const auto* const iteration = std::get_if<Iteration>(&*each);
    if (iteration && which(*iteration)) return *iteration;
  }
  return std::nullopt;
}

bool WorkQueue::replace(Iteration iteration) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& each : waiting_) {
    auto* const old = std::get_if<Iteration>(&each);
    if (!old || old->number != iteration.number) continue;
    std::swap(*old, iteration);
    return true;
  }
  return false;
}

std::optional<std::int64_t> WorkQueue::first_number() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (under_way_) return under_way_;
  for (const auto& each : waiting_) {
    if (const auto* const iteration = std::get_if<Iteration>(&each)) return iteration->number;
  }
  return std::nullopt;
}

}  // namespace leat::server
