// SPDX-License-Identifier: Apache-2.0
// A program that ends when we do, and that somebody may kill or stop at any moment of its life.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/platform/process.hpp"

namespace leat::platform {

/// `ended`: it is in the process table until reap().
enum class ChildState { runs, stopped, ended };
ChildState state_of_child(pid_t child) noexcept;

/// How often a child is looked at while somebody waits for it.
inline constexpr std::int64_t kGlanceNs = 50'000'000;

/// Finds out that a child is stopped for longer than one should wait for it. Time in which we
/// ourselves did not run does not count: a job that is suspended as a whole has lost nothing.
class StopWatch {
 public:
  explicit StopWatch(std::int64_t limit_ns) noexcept : limit_ns_(limit_ns) {}
  /// To be asked about every kGlanceNs.
  bool too_long(ChildState state) noexcept;

 private:
  std::int64_t limit_ns_, stopped_ns_ = 0, looked_ns_ = 0;
};

struct DependentPlan {
  std::vector<std::string> arguments;
  std::vector<Passed> passed{};
  std::vector<std::string> variables{};  ///< "NAME=value", above those of the caller
  std::int64_t stop_limit_ns = 60'000'000'000;
};

/// Starts a program like start(), in a session of its own, that the system kills when the calling
/// thread ends, from before it is that program on. So the thread has to live as long as the
/// program. With `stopped` set it was stopped before it was that program, for longer than the
/// limit, and was killed.
Result<pid_t> start_dependent(const DependentPlan& plan, bool* stopped);

}  // namespace leat::platform
