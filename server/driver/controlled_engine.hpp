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

  Answer answer(const Request& request) override;

  /// Tells the subscribers of the channel what has happened since the last call. True: there was
  /// something.
  bool pass_on_events(Channel& channel, std::int64_t now_ns);

 private:
  // The answer to each verb of verbs.def, by its name.
#define LEAT_CONTROL_STREAM(...)
#define LEAT_CONTROL_VERB(name, ...) Answer name(const Request& request);
#include "lib/control/verbs.def"

  EngineRunParts parts_;
  std::string description_;  // "": nobody has asked yet
  std::string folder_, since_;
  bool said_closing_ = false;
};

}  // namespace leat::control
