// SPDX-License-Identifier: Apache-2.0
// A plugin is native code: when it crashes, it takes leatd with it. So that the server that takes
// over knows by which store, that is noted in the segment by the last instructions of this one.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

namespace leat::server {

/// What note_crashes() takes.
inline constexpr int kCrashSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/// Once per process. A crash ends the process as it would have, core dump included.
void note_crashes();

/// While it exists, a crash of this thread (a signal of its own doing, abort() included) adds 1 to
/// the count.
class CrashNote {
 public:
  explicit CrashNote(std::atomic<std::uint32_t>* count) noexcept;
  CrashNote(const CrashNote&) = delete;
  /// The count of this thread, for one that helps it; null: it has none.
  static std::atomic<std::uint32_t>* count_here() noexcept;
  ~CrashNote();

 private:
  stack_t before_{};
  std::atomic<std::uint32_t>* count_before_;
};

}  // namespace leat::server
