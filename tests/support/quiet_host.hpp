// SPDX-License-Identifier: Apache-2.0
// A host that an engine needs nothing of, and clients that say nothing beside their rings: tests
// move an engine step by step.
#pragma once

#include <string>
#include <vector>

#include "server/engine/engine.hpp"

namespace leat::server::tests {

class QuietHost final : public Host {
 public:
  void wake() noexcept override {}
  const os::Machine* machine() const override { return nullptr; }
  void run_on(const node::Placement&) override {}
  void stop_listening() override {}
  void tell_user(const std::string&) override {}
};

class QuietLog final : public Log {
 public:
  QuietLog() : Log(LogLevel::debug) {}

 private:
  void put(LogLevel, const std::string&) override {}
};

class QuietConnection final : public shm::ToClient {
 public:
  /// `closed`: the client has hung up as soon as that is true; outlives this.
  explicit QuietConnection(const bool* closed = nullptr) : closed_(closed) {}
  bool welcome(const shm::Welcome& welcome) override { return welcome.status == 0; }
  Received take(shm::Report*, std::string*) override {
    return closed_ && *closed_ ? Received::closed : Received::nothing;
  }
  bool drained(const shm::DrainReport&) override { return true; }

 private:
  const bool* closed_;
};

/// Of a run on one node.
inline shm::Hello hello_of(std::int32_t rank, std::int32_t ranks) {
  shm::Hello hello{};
  hello.magic = shm::kMagic;
  hello.version = shm::kLayoutVersion;
  hello.rank = hello.node_rank = rank;
  hello.size = hello.node_size = ranks;
  return hello;
}

}  // namespace leat::server::tests
