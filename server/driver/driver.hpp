// SPDX-License-Identifier: Apache-2.0
// Hosts an engine in a process of its own: one loop over sockets, doorbells, signals and time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/os/descriptor.hpp"
#include "server/driver/control_sockets.hpp"
#include "server/driver/controlled_engine.hpp"
#include "server/driver/executors.hpp"
#include "server/driver/local_transport.hpp"
#include "server/engine/engine.hpp"

namespace leat::server {

// The time between SIGTERM and the kill that follows it: half of it for what ranks still hand over,
// a quarter for scripts, the rest for the stores.
class Grace {
 public:
  /// `grace_ns`: all of it. `told`: the parameter by which ranks learn of it; "": they do not.
  Grace(Engine& engine, Log& log, std::int64_t grace_ns, std::string told)
      : engine_(engine), log_(log), half_ns_(grace_ns / 2), told_(std::move(told)) {}

  /// Told to end; the second time, or without any grace, at once.
  void begin(const std::string& who, std::int64_t now_ns);
  /// To be called often.
  void watch(std::int64_t now_ns);
  bool has_begun() const noexcept { return take_until_ns_ != 0; }

 private:
  Engine& engine_;
  Log& log_;
  std::int64_t half_ns_;
  std::string told_, who_;
  // When nothing more is taken, and when scripts are not waited for any more. 0: not told to end.
  std::int64_t take_until_ns_ = 0, scripts_until_ns_ = 0;
};

// Hosts an engine in a process of its own: one loop over sockets, doorbells, signals and time, on
// cores of its own where there are any. One thread.
struct DriverParts {
  os::UniqueFd listener;  ///< empty: nobody comes
  std::string socket_path;
  os::Machine machine;
  os::UniqueFd control_listener{};  ///< empty: there is no control channel
  RunFacts facts{};
  std::string config{};  ///< path of the XML
  node::RanksOfNode ranks_of_node{};
  int signals = -1;      ///< a signalfd of those that ask for the end; -1: none
  int termination = -1;  ///< a pipe with numbers of such signals; -1: none
  /// Threads that are not the server's are in the process, and stay where they are.
  bool among_others = false;
  bool has_cores = true;  ///< to be placed on
};

class Driver final : public Host {
 public:
  /// `model`, `segment` and `log` are the engine's.
  Driver(const model::Model& model, const shm::Segment& segment, Log& log, DriverParts parts);

  /// Runs the engine until it is done. Returns the exit status of leatd.
  int run(Engine& engine);

  /// Of the engine.
  Executor& executor() noexcept { return executor_; }

  void wake() noexcept override;
  const os::Machine* machine() const override {
    return parts_.has_cores ? &parts_.machine : nullptr;
  }
  node::RanksOfNode::Known ranks_of_node(const std::vector<os::CpuSet>& own) override;
  void run_on(const node::Placement& placement) override;
  void stop_listening() override { transport_.stop_listening(); }
  void tell_user(const std::string& text) override;

 private:
  // An engine, and what orders it from outside.
  struct Hosted {
    Hosted(Engine& the_engine, Driver& driver);
    void pass_on_events();

    Engine& engine;
    Grace grace;
    control::EngineRun run;
    control::Channel channel;
    ControlSockets control;
  };

  void watch(int descriptor) noexcept;
  bool may_spin(const Engine& engine) const noexcept;
  bool spin(Engine& engine) const noexcept;
  bool nap(Hosted& hosted) noexcept;
  void sleep(Hosted& hosted) noexcept;
  static int limit_ms(const Hosted& hosted) noexcept;
  void look_around(Hosted& hosted, int limit_ms);
  void on_readable(Hosted& hosted, int descriptor);
  void on_signal(Grace& grace);
  void on_number(Grace& grace) const;
  static int finish(Hosted& hosted);

  const model::Model& model_;
  const shm::Segment& segment_;
  Log& log_;
  DriverParts parts_;
  os::UniqueFd epoll_, doorbell_, results_bell_;
  LocalTransport transport_;
  node::Placement placement_;
  ThreadExecutor executor_;
  std::int64_t last_event_ns_ = 0;
};

}  // namespace leat::server
