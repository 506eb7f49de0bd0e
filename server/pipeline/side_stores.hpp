// SPDX-License-Identifier: Apache-2.0
// Stores that may leave iterations out, when-slow="skip". Each is called beside the others, and
// awaited as long as no iteration waits behind, and no rank for memory: then one that has yet to begin is not called, and one that
// is at work goes on by itself.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "server/pipeline/lanes.hpp"
#include "server/pipeline/store_node.hpp"
#include "server/pipeline/work_queue.hpp"
#include "server/state/iterations/result.hpp"

namespace leat::server {

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
