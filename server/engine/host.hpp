// SPDX-License-Identifier: Apache-2.0
// What an engine asks of whoever hosts it.
#pragma once

#include <string>
#include <vector>

#include "lib/platform/placement.hpp"
#include "lib/platform/ranks_of_node.hpp"

namespace leat::server {

class Host {
 public:
  virtual ~Host() = default;

  /// A step has something to do. From any thread; quick.
  virtual void wake() noexcept = 0;
  /// The machine that it runs on. Null: it has cores of its own for nothing, and is not placed.
  virtual const platform::Machine* machine() const = 0;
  /// Tells the other servers of the node where the ranks of this one may run, and what they have told.
  virtual platform::RanksOfNode::Known ranks_of_node(const std::vector<platform::CpuSet>& own) {
    return {own, true};
  }
  /// Where it runs from now on, with all threads of the engine.
  virtual void run_on(const platform::Placement& placement) = 0;
  /// Nobody can attach from here on: who comes now finds no server.
  virtual void stop_listening() = 0;
  /// For those who look at nothing but the simulation's own output.
  virtual void tell_user(const std::string& text) = 0;
};

}  // namespace leat::server
