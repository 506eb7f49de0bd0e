// SPDX-License-Identifier: Apache-2.0
// Hosts an engine in the process of its clients: no socket, no doorbell, one mapping of the
// segment, no thread but those of the engine's stores. The engine is stepped by the calls of its
// clients: where one rings, and where it waits for the last word.
//
// Clients may be on several threads; the engine is stepped by one of them at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "lib/base/status.hpp"
#include "lib/shm/handshake.hpp"
#include "server/engine/engine.hpp"

namespace leat::server {

class InProcess final : public Host {
 public:
  using Clock = std::function<std::int64_t()>;  ///< nanoseconds
  InProcess(const shm::Segment& segment, Clock clock);
  ~InProcess() override;

  /// Starts the engine, of which this is the host. It outlives all that attach.
  void host(Engine& engine);
  /// One more client.
  Result<std::unique_ptr<shm::ToServer>> attach(const shm::Hello& hello);
  /// Does what there is to do.
  void step();
  /// The exit status of a server; -1: it has not ended.
  int status() const noexcept { return status_; }

  void wake() noexcept override;
  const os::Machine* machine() const override { return nullptr; }
  void run_on(const node::Placement&) override {}
  void stop_listening() override { listens_ = false; }
  void tell_user(const std::string& text) override;

 private:
  struct Line;  // between both ends of one client
  class Server;
  class Client;

  void step_locked();
  void message(std::uint32_t client);
  bool await_wake(std::int64_t limit_ns);

  const shm::Segment& segment_;
  Clock clock_;
  Engine* engine_ = nullptr;
  std::mutex stepping_;
  bool listens_ = true;
  int status_ = -1;
  std::mutex mutex_;  // of what follows
  std::condition_variable woken_;
  bool is_woken_ = false;
};

}  // namespace leat::server
