// SPDX-License-Identifier: Apache-2.0
// A machine as JSON: docs/reference/leat-placement.md says what is in it.
#pragma once

#include <optional>
#include <string>

#include "lib/base/status.hpp"
#include "lib/platform/machine.hpp"

namespace leat::server {

struct DescribedMachine {
  platform::Machine machine;
  platform::CpuSet allowed;  ///< processors that a job may use
};

/// Says what is wrong, and where: "node.json: nodes[1].cpus: ...".
Result<DescribedMachine> read_machine(const std::string& file);

/// This machine, and what this process may use of it; where the environment has LEAT_MACHINE, the
/// machine that this file describes instead.
Result<DescribedMachine> machine_here();

std::string machine_json(const DescribedMachine& described);

}  // namespace leat::server
