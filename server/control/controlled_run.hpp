// SPDX-License-Identifier: Apache-2.0
// What a control channel asks of the run that it belongs to, and orders. All of it is quick: it
// waits for no client, store, script or disk.
#pragma once

#include <string>

#include "server/control/protocol.hpp"
#include "server/session/steering.hpp"

namespace leat::control {

class ControlledRun {
 public:
  virtual ~ControlledRun() = default;

  // Facts
  virtual Json status() = 0;
  virtual Json metrics() = 0;
  // As text, which is there already
  virtual std::string describe() = 0;
  virtual std::string ledger() = 0;

  // Orders: "", or why that is refused. `who` is for the log and the audit trail.
  virtual std::string set(const server::SteeringRequest& request) = 0;
  virtual std::string signal(const std::string& event, const std::string& who) = 0;
  virtual std::string drain(const std::string& who) = 0;
  virtual std::string stop(const std::string& who) = 0;
  virtual std::string reload_scripts(const std::string& who) = 0;
};

}  // namespace leat::control
