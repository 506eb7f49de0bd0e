// SPDX-License-Identifier: Apache-2.0
// Servers of one run in one process: what each publishes reaches the others as late as the test wants.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/state/signals/group.hpp"

namespace leat::server::tests {

/// Where they meet.
using Meeting = std::map<std::string, ServerLine>;

class SimulatedGroup final : public Group {
 public:
  SimulatedGroup(Meeting& meeting, std::string self) : meeting_(meeting), self_(std::move(self)) {}

  const std::string& self() const noexcept override { return self_; }
  std::string place() const override { return "memory"; }
  std::string publish(const std::string& line) override {
    meeting_[self_].server = self_;
    meeting_[self_].line = line;
    return "";
  }
  std::vector<ServerLine> poll() override {
    std::vector<ServerLine> all;
    for (const auto& [server, line] : meeting_) all.push_back(line);
    return all;
  }
  std::string silence(const std::string& server) override {
    ServerLine& last = meeting_[server];
    if (last.final.empty()) last.final = last.line;
    return "";
  }
  void clear() override { meeting_.clear(); }

 private:
  Meeting& meeting_;
  std::string self_;
};

}  // namespace leat::server::tests
