// SPDX-License-Identifier: Apache-2.0
// A name in the folder of the run under which only one run writes at a time, whatever others start
// there meanwhile.
#pragma once

#include <cstdint>
#include <string>

#include "lib/platform/unique_fd.hpp"

namespace leat::server {

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
  platform::UniqueFd lock_;
};

}  // namespace leat::server
