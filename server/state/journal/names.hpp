// SPDX-License-Identifier: Apache-2.0
// Names in the folder of the run that are one node's, and one run's, alone.
#pragma once

#include <cstdint>
#include <string>

#include "lib/os/descriptor.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// What the node of this server is called in the names of files: as the host, unless another node of
// the run is called so too, as containers are that are all "localhost".

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
  os::UniqueFd lock_;
};

// A name in the folder of the run under which only one run writes at a time, whatever others start
// there meanwhile.

/// The lock beside a file that only one run writes at a time: "out/.run.log.lock" of "out/run.log".
std::string lock_of(const std::string& path);

/// "run.log" with "s" is "run-s.log", "run-scripts" is "run-scripts-s".
std::string with_addition(const std::string& path, const std::string& addition);

class OwnName {
 public:
  OwnName() = default;
  /// Takes `wanted`, or when a run in progress has it, for `wait_ns` at least, the same with
  /// the name of the session in it: "run.log" is "run-s.log" then. One that goes on where a server
  /// has died finds the name which that had. Where no lock can be had, the name is taken as free.
  OwnName(const std::string& wanted, const std::string& session, bool goes_on,
          std::int64_t wait_ns);
  OwnName(OwnName&& other) noexcept = default;
  OwnName& operator=(OwnName&& other) noexcept = default;
  ~OwnName();

  const std::string& path() const noexcept { return path_; }
  /// "" or a line that says that the wanted name is another run's, and which one is taken.
  const std::string& why_another() const noexcept { return why_another_; }

 private:
  bool take(const std::string& path, std::int64_t wait_ns);

  std::string path_, why_another_;
  os::UniqueFd lock_;
};

}  // namespace leat::server
