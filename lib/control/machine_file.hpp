// SPDX-License-Identifier: Apache-2.0
// A machine as JSON, and what the XML says of memory nodes.
#pragma once

#include <optional>
#include <string>

#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "lib/node/placement.hpp"
#include "lib/os/cores.hpp"

namespace leat::server {

// What the XML says of memory nodes, in the words of lib/node.

constexpr node::MemoryPolicy policy_of(model::Numa numa) {
  switch (numa) {
    case model::Numa::server:
      return node::MemoryPolicy::server;
    case model::Numa::client:
      return node::MemoryPolicy::client;
    case model::Numa::interleave:
      return node::MemoryPolicy::interleave;
  }
  return node::MemoryPolicy::client;
}

// A machine as JSON: docs/reference/leat-placement.md says what is in it.
struct DescribedMachine {
  os::Machine machine;
  os::CpuSet allowed;  ///< processors that a job may use
};

/// Says what is wrong, and where: "node.json: nodes[1].cpus: ...".
Result<DescribedMachine> read_machine(const std::string& file);

/// This machine, and what this process may use of it; where the environment has LEAT_MACHINE, the
/// machine that this file describes instead.
Result<DescribedMachine> machine_here();

std::string machine_json(const DescribedMachine& described);

}  // namespace leat::server
