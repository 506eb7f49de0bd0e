// SPDX-License-Identifier: Apache-2.0
#include "server/state/signals/group_talk.hpp"

#include <algorithm>
#include <utility>

namespace leat::server {
namespace {

// A server on a busy machine may be late by so much, whatever the timeout is.
constexpr std::int64_t kLeastPatienceNs = 2'000'000'000;
// Time between two ticks counts up to here: this server may have been stopped.
constexpr std::int64_t kMostOfTickNs = 1'000'000'000;
// Before others lose their patience, a server that lives has said so this often.
constexpr std::int64_t kBeats = 8;

}  // namespace

// Less than the timeout, so that ranks which wait for memory get it.
std::int64_t Patience::limit_ns() const noexcept {
  return std::max(kLeastPatienceNs, run_.timeout_ns() / 4 * 3);
}

std::int64_t Patience::beat_ns() const noexcept { return limit_ns() / kBeats; }

void Patience::tick(std::uint64_t looks, const std::string& stuck) {
  const std::int64_t before = std::exchange(ticked_ns_, run_.now_ns);
  const std::int64_t since = before == 0 ? 0 : std::min(run_.now_ns - before, kMostOfTickNs);
  if (std::exchange(has_looked_, std::exchange(looks_, looks) != looks)) since_look_ns_ = 0;
  since_look_ns_ += since;
  stuck_ns_ = stuck.empty() && has_looked_ ? 0 : stuck_ns_ + since;
}

std::vector<std::string> Patience::silent(const std::vector<Agreement::Other>& awaited) {
  std::map<std::string, Silence> silences;
  std::vector<std::string> silent;
  for (const Agreement::Other& each : awaited) {
    Silence& silence = silences[each.server] = silences_[each.server];
    if (silence.beat != each.beat) silence = {each.beat, 0};
    if (has_looked_) silence.ns += since_look_ns_;
    if (silence.ns <= limit_ns()) continue;
    silent.push_back(each.server);
    silence.ns = 0;
  }
  silences_ = std::move(silences);
  return silent;
}

namespace {

using std::chrono::milliseconds;

// Between two looks at what others say: short at first, as servers mostly wait for little.
constexpr milliseconds kLeastPause{1}, kMostPause{100};

}  // namespace

GroupTalk::GroupTalk(std::unique_ptr<Group> group, std::function<void()> wake)
    : group_(std::move(group)), wake_(std::move(wake)) {}

void GroupTalk::start(Executor& executor) {
  thread_ = executor.run("leat group", Executor::Urgency::behind_others, [this] { work(); });
}

void GroupTalk::say(std::string line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  orders_.line = std::move(line);
  changed_.notify_one();
}

void GroupTalk::silence(std::string server) {
  const std::lock_guard<std::mutex> lock(mutex_);
  orders_.silence.push_back(std::move(server));
  changed_.notify_one();
}

void GroupTalk::listen(bool eagerly) {
  if (eagerly_ == eagerly) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  eagerly_ = eagerly;
  pause_ = kLeastPause;
  changed_.notify_one();
}

std::optional<GroupTalk::News> GroupTalk::take_news() {
  if (!has_news()) return std::nullopt;
  const std::lock_guard<std::mutex> lock(mutex_);
  has_news_.store(false, std::memory_order_relaxed);
  return std::exchange(news_, std::nullopt);
}

void GroupTalk::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void GroupTalk::await_orders(std::unique_lock<std::mutex>& lock) {
  const auto is_ordered = [this] { return stopping_ || orders_.any(); };
  if (eagerly_) {
    changed_.wait_for(lock, pause_, is_ordered);
  } else {
    changed_.wait(lock, [&] { return eagerly_ || is_ordered(); });
  }
}

void GroupTalk::work() {
  News last;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    await_orders(lock);
    const bool is_last = stopping_;
    if (is_last && !orders_.any()) return;
    Orders orders = std::exchange(orders_, {});
    lock.unlock();
    News news = carry_out(&orders);
    lock.lock();
    looks_.fetch_add(1, std::memory_order_relaxed);
    const bool has_changed = news.all != last.all || news.problem != last.problem;
    pause_ = has_changed ? kLeastPause : std::min(2 * pause_, kMostPause);
    if (has_changed) {
      last = news;
      news_ = std::move(news);
      has_news_.store(true, std::memory_order_relaxed);
      wake_();
    }
    if (is_last) return;
    // What could not be said is tried again, if nothing newer is to be.
    if (!orders.line || orders_.line) continue;
    changed_.wait_for(lock, kMostPause, [this] { return stopping_ || orders_.any(); });
    if (!orders_.line) orders_.line = std::move(orders.line);
  }
}

// What could not be said stays.
GroupTalk::News GroupTalk::carry_out(Orders* orders) {
  News news;
  if (orders->line) news.problem = group_->say(*orders->line);
  if (news.problem.empty()) orders->line.reset();
  for (const std::string& server : orders->silence) {
    if (std::string why = group_->silence(server); !why.empty()) news.problem = std::move(why);
  }
  news.all = group_->hear();
  return news;
}

}  // namespace leat::server
