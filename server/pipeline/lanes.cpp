// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/lanes.hpp"

#include <algorithm>
#include <map>
#include <memory>
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

void Lanes::start(Executor& executor) {
  try {
    for (std::size_t lane = 1; lane < stores_.size(); ++lane) {
      workers_.push_back(std::make_unique<platform::Worker>());
      executor.start(*workers_.back(), "leat stores");
    }
  } catch (const std::system_error&) {
    workers_.pop_back();
    for (std::size_t lane = workers_.size() + 1; lane < stores_.size(); ++lane)
      stores_[0].insert(stores_[0].end(), stores_[lane].begin(), stores_[lane].end());
    stores_.resize(workers_.size() + 1);
    std::sort(stores_[0].begin(), stores_[0].end());
  }
}

void Lanes::run(const Call& call) {
  const auto call_all = [&](std::size_t lane) {
    for (const std::size_t store : stores_[lane]) call(store);
  };
  for (std::size_t i = 0; i < workers_.size(); ++i)
    workers_[i]->post([&call_all, lane = i + 1] { call_all(lane); });
  call_all(0);
  for (const auto& worker : workers_) worker->wait();
}

struct SideLane::Errand {
  enum class State { waiting, begun, over, taken_back };

  std::function<void()> call, then{};
  State state = State::waiting;
};

void SideLane::start(Executor& executor) {
  try {
    executor.start(worker_, "leat side store");
  } catch (const std::system_error&) {
  }
}

SideLane::Ticket SideLane::give(std::function<void()> call, bool is_sure) {
  auto errand = std::make_shared<Errand>(Errand{std::move(call)});
  if (is_sure) errand->state = Errand::State::begun;
  if (worker_.has_thread()) {
    worker_.post([this, errand] { run(*errand); });
  } else {
    errand->call();
    errand->state = Errand::State::over;
  }
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
  errand->state = Errand::State::taken_back;
  errand->call = nullptr;  // what it holds ends here
  return true;
}

bool SideLane::let_go(const Ticket& errand, std::function<void()> then) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (errand->state == Errand::State::over) return false;
  errand->then = std::move(then);
  return true;
}

void SideLane::run(Errand& errand) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (errand.state == Errand::State::taken_back) return;
    errand.state = Errand::State::begun;
  }
  errand.call();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    errand.state = Errand::State::over;
  }
  if (errand.then) errand.then();       // no other thread sets it when it is over
  errand.call = errand.then = nullptr;  // what they hold ends here
  ended_();
}

}  // namespace leat::server
