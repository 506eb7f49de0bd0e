// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/lanes.hpp"

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

namespace leat::server {

Lanes::Lanes(const std::vector<const void*>& libraries, std::size_t most) : stores_(1) {
  std::map<const void*, std::size_t> lanes;
  for (std::size_t store = 0; store < libraries.size(); ++store) {
    if (!libraries[store]) continue;
    const std::size_t next = lanes.size() % std::max<std::size_t>(1, most);
    const std::size_t lane = lanes.try_emplace(libraries[store], next).first->second;
    if (lane == stores_.size()) stores_.emplace_back();
    stores_[lane].push_back(store);
  }
}

Lanes::~Lanes() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    begun_.notify_all();
  }
  threads_.clear();
}

void Lanes::start(Executor& executor) {
  try {
    for (std::size_t lane = 1; lane < stores_.size(); ++lane) {
      threads_.push_back(executor.run("leat stores", Executor::Urgency::behind_others,
                                      [this, lane] { work(lane); }));
    }
  } catch (const std::system_error&) {
    for (std::size_t lane = threads_.size() + 1; lane < stores_.size(); ++lane)
      stores_[0].insert(stores_[0].end(), stores_[lane].begin(), stores_[lane].end());
    stores_.resize(threads_.size() + 1);
    std::sort(stores_[0].begin(), stores_[0].end());
  }
}

void Lanes::run(const Call& call) {
  if (!threads_.empty()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    call_ = &call;
    ++round_;
    working_ = threads_.size();
    begun_.notify_all();
  }
  for (const std::size_t store : stores_[0]) call(store);
  std::unique_lock<std::mutex> lock(mutex_);
  ended_.wait(lock, [this] { return working_ == 0; });
}

void Lanes::work(std::size_t lane) {
  std::size_t done = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return closing_ || round_ != done; });
    if (round_ == done) return;
    done = round_;
    const Call& call = *call_;
    lock.unlock();
    for (const std::size_t store : stores_[lane]) call(store);
    lock.lock();
    if (--working_ == 0) ended_.notify_one();
  }
}

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
