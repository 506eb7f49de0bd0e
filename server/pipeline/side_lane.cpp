// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/side_lane.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace leat::server {

struct SideLane::Errand {
  enum class State { waiting, begun, over };

  std::function<void()> call, then{};
  State state = State::waiting;
};

SideLane::~SideLane() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closing_ = true;
  changed_.notify_all();
}

void SideLane::start(Executor& executor) {
  try {
    thread_ = executor.run("leat side store", Executor::Urgency::behind_others, [this] { work(); });
  } catch (const std::system_error&) {
  }
}

SideLane::Ticket SideLane::give(std::function<void()> call, bool is_sure) {
  auto errand = std::make_shared<Errand>(Errand{std::move(call)});
  if (is_sure) errand->state = Errand::State::begun;
  if (!thread_.joinable()) {
    errand->call();
    errand->state = Errand::State::over;
    return errand;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  errands_.push_back(errand);
  changed_.notify_all();
  return errand;
}

bool SideLane::is_over(const Ticket& errand) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return errand->state == Errand::State::over;
}

bool SideLane::has_begun(const Ticket& errand) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return errand->state != Errand::State::waiting;
}

bool SideLane::take_back(const Ticket& errand) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (errand->state != Errand::State::waiting) return false;
  errands_.erase(std::find(errands_.begin(), errands_.end(), errand));
  return true;
}

bool SideLane::let_go(const Ticket& errand, std::function<void()> then) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (errand->state == Errand::State::over) return false;
  errand->then = std::move(then);
  return true;
}

void SideLane::await_all() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return errands_.empty(); });
}

void SideLane::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !errands_.empty(); });
    if (errands_.empty()) return;
    const Ticket errand = errands_.front();
    errand->state = Errand::State::begun;
    lock.unlock();
    errand->call();
    lock.lock();
    errand->state = Errand::State::over;
    lock.unlock();
    if (errand->then) errand->then();       // no other thread sets it when it is over
    errand->call = errand->then = nullptr;  // what they hold ends here
    ended_();
    lock.lock();
    errands_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace leat::server
