// SPDX-License-Identifier: Apache-2.0
// What the node of this server is called in the names of files: as the host, unless another node of
// the run is called so too, as containers are that are all "localhost".
#pragma once

#include <cstdint>
#include <string>

#include "lib/platform/unique_fd.hpp"
#include "server/session/run.hpp"

namespace leat::server {

/// "node7" of a host, "node7-2" of the second one that is called so.
std::string numbered_node(const std::string& host, std::int32_t number);
/// With the server, where the node has several: "node7.1". No other server of the run has it.
std::string own_node_name(const RunFacts& facts);

/// The number, and a lock beside the output that keeps it, as long as the server lives. One that
/// goes on where another has died has the number of that again.
class NodeNumber {
 public:
  NodeNumber() = default;
  /// Where the nodes of a run can see each other: in the folder of its output.
  NodeNumber(const std::string& folder, const std::string& simulation, const RunFacts& facts);
  NodeNumber(NodeNumber&&) = default;
  NodeNumber& operator=(NodeNumber&&) = default;
  ~NodeNumber();

  std::int32_t value() const noexcept { return value_; }

 private:
  bool take(const std::string& path, const RunFacts& facts);
  bool take_again(const std::string& folder, const std::string& simulation, const RunFacts& facts);

  std::int32_t value_ = 1;
  std::string path_;
  platform::UniqueFd lock_;
};

}  // namespace leat::server
