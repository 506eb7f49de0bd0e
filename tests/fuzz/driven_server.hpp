// SPDX-License-Identifier: Apache-2.0
// leatd's Server over a small segment, moved step by step instead of by its loop. A plugin of its
// own reads all that is passed on, and checks what plugins are promised.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/engine/server.hpp"

namespace leat::server {

class DrivenServer {
 public:
  static constexpr std::uint32_t kClients = 2;

  /// In the one segment of the process, its client-owned memory zero.
  explicit DrivenServer(model::WhenFull when_full);
  ~DrivenServer();

  const shm::Segment& segment() const { return server_->segment_; }
  shm::ClientArea client(std::uint32_t index) const { return segment().client(index); }
  std::size_t variables() const;

  void step();
  void hang_up(std::uint32_t client);
  /// What a server that is killed leaves, another one takes over. No client has come back yet.
  void die_and_be_followed();
  void come_back(std::uint32_t client, std::uint64_t current_extent, std::uint64_t spare_extent);
  void steer(const std::string& parameter, const Steering::Value& value);
  /// What the first rank said of its parameters, as it is taken for scripts.
  void end_in_parameter_log(std::int64_t iteration);
  /// All clients hang up; what they handed over is processed. Nothing may be left then.
  void drain();

 private:
  void settle();
  void make_server();

  RunFacts facts_;
  model::WhenFull when_full_;
  std::unique_ptr<PluginView> view_;
  std::unique_ptr<Server> server_;
};

}  // namespace leat::server
