// SPDX-License-Identifier: Apache-2.0
#include "server/state/signals/group_thread.hpp"

#include <algorithm>
#include <utility>

namespace leat::server {
namespace {

// A server on a busy machine may be late by so much, whatever the timeout is.
constexpr std::int64_t kLeastSilenceNs = 2'000'000'000;
// Time between two ticks counts up to here: this server may have been stopped.
constexpr std::int64_t kMostOfTickNs = 1'000'000'000;
// Within the time after which others silence it, a server that lives publishes this often.
constexpr std::int64_t kBeats = 8;

}  // namespace

// Less than the timeout, so that ranks which wait for memory get it.
std::int64_t SilenceTimer::limit_ns() const noexcept {
  return std::max(kLeastSilenceNs, run_.timeout_ns() / 4 * 3);
}

std::int64_t SilenceTimer::beat_ns() const noexcept { return limit_ns() / kBeats; }

void SilenceTimer::tick(std::uint64_t polls, const std::string& stuck) {
  const std::int64_t before = std::exchange(ticked_ns_, run_.now_ns);
  const std::int64_t since = before == 0 ? 0 : std::min(run_.now_ns - before, kMostOfTickNs);
  if (std::exchange(has_polled_, std::exchange(polls_, polls) != polls)) since_poll_ns_ = 0;
  since_poll_ns_ += since;
  stuck_ns_ = stuck.empty() && has_polled_ ? 0 : stuck_ns_ + since;
}

std::vector<std::string> SilenceTimer::expired(const std::vector<Agreement::Other>& awaited) {
  std::map<std::string, Silence> silences;
  std::vector<std::string> expired;
  for (const Agreement::Other& each : awaited) {
    Silence& silence = silences[each.server] = silences_[each.server];
    if (silence.beat != each.beat) silence = {each.beat, 0};
    if (has_polled_) silence.ns += since_poll_ns_;
    if (silence.ns <= limit_ns()) continue;
    expired.push_back(each.server);
    silence.ns = 0;
  }
  silences_ = std::move(silences);
  return expired;
}

namespace {

using std::chrono::milliseconds;

// Between two polls: short at first, as servers mostly wait for little.
constexpr milliseconds kLeastPause{1}, kMostPause{100};

}  // namespace

GroupThread::GroupThread(std::unique_ptr<Group> group, std::function<void()> wake)
    : group_(std::move(group)), wake_(std::move(wake)) {}

void GroupThread::start(Executor& executor) {
  thread_ = executor.run("leat group", Executor::Urgency::behind_others, [this] { work(); });
}

void GroupThread::publish(std::string line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  orders_.line = std::move(line);
  changed_.notify_one();
}

void GroupThread::silence(std::string server) {
  const std::lock_guard<std::mutex> lock(mutex_);
  orders_.silence.push_back(std::move(server));
  changed_.notify_one();
}

void GroupThread::poll_often(bool often) {
  if (polls_often_ == often) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  polls_often_ = often;
  pause_ = kLeastPause;
  changed_.notify_one();
}

std::optional<GroupThread::Update> GroupThread::take_update() {
  if (!has_update()) return std::nullopt;
  const std::lock_guard<std::mutex> lock(mutex_);
  has_update_.store(false, std::memory_order_relaxed);
  return std::exchange(update_, std::nullopt);
}

void GroupThread::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void GroupThread::await_orders(std::unique_lock<std::mutex>& lock) {
  const auto is_ordered = [this] { return stopping_ || orders_.any(); };
  if (polls_often_) {
    changed_.wait_for(lock, pause_, is_ordered);
  } else {
    changed_.wait(lock, [&] { return polls_often_ || is_ordered(); });
  }
}

void GroupThread::work() {
  Update last;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    await_orders(lock);
    const bool is_last = stopping_;
    if (is_last && !orders_.any()) return;
    Orders orders = std::exchange(orders_, {});
    lock.unlock();
    Update update = carry_out(&orders);
    lock.lock();
    polls_.fetch_add(1, std::memory_order_relaxed);
    const bool has_changed = update.all != last.all || update.problem != last.problem;
    pause_ = has_changed ? kLeastPause : std::min(2 * pause_, kMostPause);
    if (has_changed) {
      last = update;
      update_ = std::move(update);
      has_update_.store(true, std::memory_order_relaxed);
      wake_();
    }
    if (is_last) return;
    // What could not be published is tried again, unless there is a newer line.
    if (!orders.line || orders_.line) continue;
    changed_.wait_for(lock, kMostPause, [this] { return stopping_ || orders_.any(); });
    if (!orders_.line) orders_.line = std::move(orders.line);
  }
}

// What could not be published stays.
GroupThread::Update GroupThread::carry_out(Orders* orders) {
  Update update;
  if (orders->line) update.problem = group_->publish(*orders->line);
  if (update.problem.empty()) orders->line.reset();
  for (const std::string& server : orders->silence) {
    if (std::string why = group_->silence(server); !why.empty()) update.problem = std::move(why);
  }
  update.all = group_->poll();
  return update;
}

}  // namespace leat::server
