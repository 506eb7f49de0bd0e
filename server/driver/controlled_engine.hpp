// SPDX-License-Identifier: Apache-2.0
// The run that a control channel belongs to, as its engine knows it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "server/driver/control_channel.hpp"
#include "server/engine/engine.hpp"
#include "server/state/run.hpp"

namespace leat::control {

struct EngineRunParts {
  server::Engine& engine;
  const model::Model& model;
  const shm::Segment& segment;
  server::RunFacts facts;
  std::string config{};  ///< path of the XML
  server::Log& log;
  /// The run is to end in good order, as by a signal.
  std::function<void(const std::string& who)> stop{};
};

class EngineRun final : public ControlledRun {
 public:
  explicit EngineRun(EngineRunParts parts);

  Json status() override;
  Json metrics() override;
  std::string describe() override;
  std::string ledger() override { return parts_.engine.control().ledger(); }

  std::string set(const server::SteeringRequest& request) override;
  std::string signal(const std::string& event, const std::string& who) override;
  std::string drain(const std::string& who) override;
  std::string stop(const std::string& who) override;
  std::string reload_scripts(const std::string& who) override;

  /// Tells the subscribers of the channel what has happened since the last call. True: there was
  /// something.
  bool pass_on_events(Channel& channel, std::int64_t now_ns);

 private:
  EngineRunParts parts_;
  std::string description_;  // "": nobody has asked yet
  std::string folder_, since_;
  bool said_closing_ = false;
};

}  // namespace leat::control
