// SPDX-License-Identifier: Apache-2.0
// An engine over a small segment, moved step by step with a clock of its own. A plugin of its own
// reads all that is passed on, and checks what plugins are promised.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "server/driver/executors.hpp"
#include "tests/support/quiet_host.hpp"

namespace leat::server {

class DrivenEngine {
 public:
  static constexpr std::uint32_t kClients = 2;

  /// In the one segment of the process, its client-owned memory zero.
  explicit DrivenEngine(model::OverflowPolicy overflow_policy);
  ~DrivenEngine();

  static const shm::Segment& segment();
  static shm::ClientArea client(std::uint32_t index) { return segment().client(index); }

  void step();
  void hang_up(std::uint32_t client);
  /// What a server that is killed leaves, another one takes over. No client has come back yet.
  void die_and_be_followed();
  void come_back(std::uint32_t client, std::uint64_t current_region, std::uint64_t spare_region);
  void steer(const std::string& parameter, const Steering::Value& value);
  /// What the first rank said of its parameters, as it is taken for scripts.
  void end_in_parameter_log(std::int64_t iteration);
  /// All clients hang up; what they handed over is processed. Nothing may be left then.
  void drain();

 private:
  // Time stands still, but at the end: whatever depends on it, is due then.
  static constexpr std::int64_t kLongNs = 3'600'000'000'000;

  static shm::Hello hello_of(std::uint32_t client);
  void attach(std::uint32_t client, const shm::Hello& hello);
  void settle();
  void make_engine();

  RunFacts facts_;
  model::OverflowPolicy when_full_;
  ParameterLog log_;
  tests::QuietHost host_;
  ThreadExecutor executor_;
  std::array<bool, kClients> hung_up_{};
  std::unique_ptr<PluginView> view_;
  std::unique_ptr<Engine> engine_;
  std::int64_t now_ns_ = 1;
};

}  // namespace leat::server
