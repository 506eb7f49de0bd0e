// SPDX-License-Identifier: Apache-2.0
// Threads on which stores work: lanes that iterations wait for, and lanes that may leave iterations out.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/os/worker.hpp"
#include "server/pipeline/store_node.hpp"
#include "server/pipeline/work_queue.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// Threads on which stores work at the same time. Those of one plugin, which may have things in
// common, share a thread, always the same one.
class Lanes {
 public:
  using Call = std::function<void(std::size_t store)>;

  /// `libraries`: by store, what its plugin is; null: it is called elsewhere. `most`: of threads, the caller's of run() included.
  Lanes(const std::vector<const void*>& libraries, std::size_t most);
  Lanes(const Lanes&) = delete;

  /// Once. Without threads, when there are none to be had.
  void start(Executor& executor);
  /// Calls it once for each of its stores, in their order as far as they share a thread, and waits until
  /// all are done. From one thread, always the same.
  void run(const Call& call);

 private:
  std::vector<std::vector<std::size_t>> stores_;      // by lane; the first is the caller's
  std::vector<std::unique_ptr<os::Worker>> workers_;  // of the others
};

// A thread for stores that may leave iterations out: it makes calls in order, and who has asked for
// one may take it back, or go on without it. Those of one plugin share one.

/// Asked by one thread, always the same.
class SideLane {
 public:
  struct Errand;
  using Ticket = std::shared_ptr<Errand>;

  /// `ended`: called after each call, from the lane's thread.
  explicit SideLane(std::function<void()> ended) : ended_(std::move(ended)) {}
  SideLane(const SideLane&) = delete;
  /// After all calls.
  ~SideLane() { worker_.finish(); }

  /// Once. When there is no thread to be had, give() makes the calls.
  void start(Executor& executor);
  /// `is_sure`: it cannot be taken back.
  Ticket give(std::function<void()> call, bool is_sure);
  bool is_over(const Ticket& errand) const;
  bool has_begun(const Ticket& errand) const;
  /// True: it has not begun, and never will.
  bool take_back(const Ticket& errand);
  /// Nobody waits for it: what is to follow it does so on the lane's thread. False: it is over.
  bool let_go(const Ticket& errand, std::function<void()> then);
  /// Waits until nothing is left to do.
  void await_all() { worker_.wait(); }

 private:
  void run(Errand& errand);

  std::function<void()> ended_;
  mutable std::mutex mutex_;  // of what errands have
  os::Worker worker_;
};

// Stores that may leave iterations out, when-slow="skip". Each is called beside the others, and
// awaited as long as no iteration waits behind, and no rank for memory: then one that has yet to begin is not called, and one that
// is at work goes on by itself.

/// Calls come from the pipeline's thread.
class SideStores {
 public:
  using Outcomes = std::vector<StoreOutcome>;
  using Call = std::function<Outcomes(StoreNode&)>;
  /// Called when a store comes back that had gone aside, on its thread.
  using Late = std::function<void(StoreNode&, Outcomes)>;

  /// What has become of calls that were made together.
  struct Round {
    std::vector<Outcomes> outcomes;  ///< by store; none of those that follow
    std::vector<std::size_t> left_out, aside;
    std::size_t calls = 0;
  };

  /// Both outlive it.
  SideStores(const std::vector<std::unique_ptr<StoreNode>>& stores, WorkQueue& queue);

  bool has(std::size_t store) const noexcept { return lanes_[store] != nullptr; }
  void start(Executor& executor);
  /// Until await(); `late` is called instead of it when the store goes aside, with the iteration.
  void call(std::size_t store, Call call, Late late);
  /// Without await(), behind what a store works on that is aside with this iteration.
  void call_aside(std::size_t store, std::int64_t iteration, Call call, const Late& late);
  Round await(std::int64_t iteration);
  /// Behind what the store is at; nobody awaits it but await_all().
  void send(std::size_t store, std::function<void()> call) {
    lanes_[store]->give(std::move(call), true);
  }
  /// Calls it once for each that is here.
  void send_to_all(const std::function<void(std::size_t store)>& call);
  /// Waits until none has anything to do.
  void await_all();

 private:
  struct Sent {
    std::size_t store;
    SideLane::Ticket ticket;
    std::shared_ptr<Outcomes> outcomes;
    Late late;
  };
  Sent send(std::size_t store, Call call, Late late);
  bool is_free(std::size_t store) const;
  bool may_go_on(bool somebody_waits) const;
  void settle(const Sent& sent, std::int64_t iteration, Round* round);
  bool let_go(const Sent& sent, std::int64_t iteration);

  const std::vector<std::unique_ptr<StoreNode>>& stores_;
  WorkQueue& queue_;
  std::map<const void*, SideLane> by_library_;
  std::vector<SideLane*> lanes_;  // by store; null: it waits with the others
  std::vector<Sent> sent_;
};

}  // namespace leat::server
