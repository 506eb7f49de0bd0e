// SPDX-License-Identifier: Apache-2.0
// On which cores a server runs, and on which memory nodes its segment lies. Private to the engine's
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/node/placement.hpp"
#include "server/engine/dispatcher.hpp"
#include "server/engine/host.hpp"

namespace leat::server {

class Placing {
 public:
  Placing(SessionState& session, Dispatcher& dispatcher, Host& host)
      : session_(session), dispatcher_(dispatcher), host_(host) {}

  /// Memory has more than one place to lie in: which is known when all ranks are there.
  bool has_memory_nodes() const;
  /// Once it is known where all ranks are that will ever come, other servers' too.
  void place_when_known();
  /// Ranks of other servers are still to be told of.
  bool is_waiting() const noexcept { return since_ns_ != 0; }
  void look() {
    if (is_waiting()) place_when_known();
  }

 private:
  struct Ranks {  // that are here
    std::vector<os::CpuSet> affinities;
    std::vector<int> names;
    std::vector<std::uint32_t> clients;
  };

  bool must_wait(bool all_known);
  void place(const std::vector<os::CpuSet>& of_node);
  node::Placement placement(const std::vector<os::CpuSet>& of_node) const;
  std::vector<os::CpuSet> affinities() const;
  Ranks ranks_here() const;
  void bind_memory(const node::MemoryPlacement& memory, const std::vector<std::uint32_t>& here);

  SessionState& session_;
  Dispatcher& dispatcher_;
  Host& host_;
  std::int64_t since_ns_ = 0;  // when it began to wait; 0: it does not
};

}  // namespace leat::server
