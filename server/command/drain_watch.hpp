// SPDX-License-Identifier: Apache-2.0
// Whether the process that stores what a killed session has in memory gets on with it: one that
// works may take as long as it needs, one that is stopped or stuck is not waited for.
#pragma once

#include <cstdint>
#include <string>

#include "lib/os/process.hpp"
#include "lib/shm/segment.hpp"

namespace leat::command {

class DrainWatch {
 public:
  /// Of the process `who`, or, without it, of whoever has the segment's lock.
  explicit DrainWatch(const std::string& segment, pid_t who = 0);

  /// To be asked about every platform::kGlanceNs. True when it got nothing done for the run's
  /// timeout. Time in which we ourselves did not run does not count.
  bool stuck();
  /// "process 4711 stores it, is stopped, and has got nothing done for 60 s", and what to do.
  std::string why() const;

 private:
  std::uint64_t count() const noexcept;
  bool works();

  std::string path_;
  Result<shm::Segment> segment_;
  const bool is_child_;
  pid_t who_;
  std::uint64_t count_;  // of what it got done
  std::int64_t processor_ns_ = 0, looked_ns_ = 0;
  std::int64_t limit_ns_, idle_ns_ = 0, fruitless_ns_ = 0;
};

}  // namespace leat::command
