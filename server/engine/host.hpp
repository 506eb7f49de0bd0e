// SPDX-License-Identifier: Apache-2.0
// What an engine asks of whoever hosts it, and which iterations stores and scripts are at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lib/node/placement.hpp"

namespace leat::server {

// Which iterations stores and scripts are at: whose blocks are being read, and for which the
// simulation waits.
class UnderWay {
 public:
  /// Blocks of it are held so many times.
  void hold(std::int64_t iteration, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) held_.insert(iteration);
  }
  void release(std::int64_t iteration) { held_.erase(held_.find(iteration)); }
  bool anything_held() const noexcept { return !held_.empty(); }
  std::size_t held() const noexcept { return held_.size(); }

  /// The simulation waits for it.
  void await(std::int64_t iteration) { awaited_.insert(iteration); }
  /// If it did.
  void came(std::int64_t iteration) { awaited_.erase(iteration); }

  /// INT64_MAX for none.
  std::int64_t oldest_held() const noexcept { return held_.empty() ? INT64_MAX : *held_.begin(); }
  std::int64_t oldest_awaited() const noexcept {
    return awaited_.empty() ? INT64_MAX : *awaited_.begin();
  }

 private:
  std::multiset<std::int64_t> held_;
  std::set<std::int64_t> awaited_;
};

// What an engine asks of whoever hosts it.
class Host {
 public:
  virtual ~Host() = default;

  /// A step has something to do. From any thread; quick.
  virtual void wake() noexcept = 0;
  /// The machine that it runs on. Null: it has cores of its own for nothing, and is not placed.
  virtual const os::Machine* machine() const = 0;
  /// Tells the other servers of the node where the ranks of this one may run, and what they have told.
  virtual node::RanksOfNode::Known ranks_of_node(const std::vector<os::CpuSet>& own) {
    return {own, true};
  }
  /// Where it runs from now on, with all threads of the engine.
  virtual void run_on(const node::Placement& placement) = 0;
  /// Nobody can attach from here on: who comes now finds no server.
  virtual void stop_listening() = 0;
  /// For those who look at nothing but the simulation's own output.
  virtual void tell_user(const std::string& text) = 0;
};

}  // namespace leat::server
