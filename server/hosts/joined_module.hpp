// SPDX-License-Identifier: Apache-2.0
// One module on this host: its program, and the connection by which it has its turns.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/comm/byte_stream.hpp"
#include "lib/os/mapped_file.hpp"
#include "server/workers/worker_process.hpp"

namespace leat::hosts {

// The program lives as long as the run: a connection that breaks and comes again is none of its business. Its thread is the one
// that has started it, and the only one that speaks to it.
class JoinedModule {
 public:
  /// `setup`: the first frame of the node, which has the name of the module, and what it is started with.
  explicit JoinedModule(const nlohmann::json& setup);
  ~JoinedModule();

  /// Not one that has ended by itself, or cannot start, as long as the graph says the same of it.
  bool wants(const nlohmann::json& setup) const;
  /// With the connection that it has from now on.
  void go_on(std::unique_ptr<comm::ByteStream> stream, const nlohmann::json& setup);
  /// It wants no more turns, or has none: the run is over, it has ended by itself, or cannot start.
  bool is_over() const;
  /// It has a connection.
  bool is_joined() const;
  bool has_failed() const;

 private:
  void run();
  void serve(comm::ByteStream& stream);
  bool prepare(const nlohmann::json& setup, std::string* why);
  bool is_still_there(comm::ByteStream& stream);
  void take_turn(comm::ByteStream& stream, Frame order);
  std::string converse(comm::ByteStream& stream, std::int64_t deadline_ns);
  bool pass_on(comm::ByteStream& stream, Frame said);
  void end_turn(comm::ByteStream& stream, const std::string& error, bool has_ended);
  void end(bool by_node, bool failed, const std::string& text);
  void say(const std::string& text) const;

  std::string name_;
  server::WorkerPlan plan_;
  server::WorkerProcess process_{plan_};
  std::unique_ptr<os::MappedFile> outputs_;
  std::vector<std::uint64_t> sent_;  // of its outputs: they are free when the next turn begins
  std::int64_t limit_ns_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::unique_ptr<comm::ByteStream> next_;
  std::shared_ptr<comm::ByteStream> stream_;
  nlohmann::json setup_;
  bool is_over_ = false, has_failed_ = false, is_leaving_ = false;
  bool may_come_again_ = true;  // it is over as the node has said so
  std::jthread thread_;
};

}  // namespace leat::hosts
