// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/lanes.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
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
      workers_.push_back(std::make_unique<os::Worker>());
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

// A plugin may have things that its stores share: one of them that waits keeps all with the others.
SideStores::SideStores(const std::vector<std::unique_ptr<StoreNode>>& stores, WorkQueue& queue)
    : stores_(stores), queue_(queue) {
  std::set<const void*> awaited;
  for (const auto& store : stores) {
    if (!store->plugin().may_skip()) awaited.insert(store->plugin().library());
  }
  for (const auto& store : stores) {
    const void* const library = store->plugin().library();
    lanes_.push_back(nullptr);
    if (awaited.count(library)) continue;
    lanes_.back() = &by_library_.try_emplace(library, [this] { queue_.nudge(); }).first->second;
  }
}

void SideStores::start(Executor& executor) {
  for (auto& [library, lane] : by_library_) lane.start(executor);
}

SideStores::Sent SideStores::send(std::size_t store, Call call, Late late) {
  auto outcomes = std::make_shared<Outcomes>();
  StoreNode* const node = stores_[store].get();
  auto made = [node, outcomes, call = std::move(call)] { *outcomes = call(*node); };
  return {store, lanes_[store]->give(std::move(made), is_free(store)), outcomes, std::move(late)};
}

// Not at work on what came before: what it gets now it has, however long its thread takes to wake.
bool SideStores::is_free(std::size_t store) const {
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    if (lanes_[i] == lanes_[store] && stores_[i]->is_aside()) return false;
  }
  return true;
}

void SideStores::call(std::size_t store, Call call, Late late) {
  sent_.push_back(send(store, std::move(call), std::move(late)));
}

// It may have come back in the meantime.
void SideStores::call_aside(std::size_t store, std::int64_t iteration, Call call,
                            const Late& late) {
  const Sent sent = send(store, std::move(call), late);
  if (!let_go(sent, iteration)) {
    stores_[store]->goes_aside(iteration);
    late(*stores_[store], std::move(*sent.outcomes));
  }
}

// All are back; or somebody waits, and those that have not begun can be told to leave it.
bool SideStores::may_go_on(bool somebody_waits) const {
  return std::all_of(sent_.begin(), sent_.end(), [&](const Sent& sent) {
    const SideLane& lane = *lanes_[sent.store];
    if (!somebody_waits) return lane.is_over(sent.ticket);
    return lane.has_begun(sent.ticket) || stores_[sent.store]->may_leave_out();
  });
}

SideStores::Round SideStores::await(std::int64_t iteration) {
  Round round;
  round.outcomes.resize(stores_.size());
  if (sent_.empty()) return round;
  round.calls = sent_.size();
  queue_.await([this](bool somebody_waits) { return may_go_on(somebody_waits); });
  for (const Sent& sent : std::exchange(sent_, {})) settle(sent, iteration, &round);
  return round;
}

void SideStores::settle(const Sent& sent, std::int64_t iteration, Round* round) {
  if (lanes_[sent.store]->take_back(sent.ticket)) {
    round->left_out.push_back(sent.store);
  } else if (let_go(sent, iteration)) {
    round->aside.push_back(sent.store);
  } else {
    round->outcomes[sent.store] = std::move(*sent.outcomes);
  }
}

// False: it is back.
bool SideStores::let_go(const Sent& sent, std::int64_t iteration) {
  StoreNode& node = *stores_[sent.store];
  const auto then = [&node, outcomes = sent.outcomes, late = sent.late] {
    late(node, std::move(*outcomes));
  };
  if (!lanes_[sent.store]->let_go(sent.ticket, then)) return false;
  node.goes_aside(iteration);
  return true;
}

void SideStores::send_to_all(const std::function<void(std::size_t store)>& call) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i]) lanes_[i]->give([call, i] { call(i); }, true);
  }
}

void SideStores::await_all() {
  for (auto& [library, lane] : by_library_) lane.await_all();
}

}  // namespace leat::server
