// SPDX-License-Identifier: Apache-2.0
// From the path of a library to a plugin or function that may be called, and a note of which one is at work.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "server/include/plugin.h"

namespace leat::server {

// From the path of a library to a plugin that may be called.

/// A plugin whose ABI fits ours. Stays loaded until the process ends.
class LoadedPlugin {
 public:
  explicit LoadedPlugin(const leat_plugin& entry, void* state = nullptr)
      : plugin_(entry), state_(state) {}
  const leat_plugin* plugin() const noexcept { return &plugin_; }
  /// What its open() finds in *state.
  void* state() const noexcept { return state_; }

 private:
  leat_plugin plugin_;  // ours, filled as far as the plugin's own struct goes
  void* state_;
};

/// Path of a plugin that comes with Leat: "hdf5" is ../lib/leat/plugins/hdf5.so beside the running
/// program.
Result<std::string> find_builtin(const std::string& type);

/// Reads the ABI number and size of the entry from the file, refuses another ABI before any code of
/// the plugin runs, then loads it. `path` without a '/' is taken from the current folder, not
/// searched for.
Result<LoadedPlugin> load_plugin(const std::string& path);

/// The same for a library that a user names: refused when it or its folder may be changed by
/// everybody, or belongs to another user than us and root. Plugins that come with Leat are as good
/// as leatd, whoever installed both.
Result<LoadedPlugin> load_own_plugin(const std::string& path);

/// That of a <store>: a function that events call, a library of the user's, or one of ours.
Result<LoadedPlugin> load_plugin_of(const model::Store& store);

// Functions of libraries that are called when an event happens, as Damaris has them, in the place
// of a plugin.

/// void FUNCTION(const char* event, int32_t source, int32_t iteration, const char* args), exported by
/// the library; source is the rank, -1 when it is not one rank's. The library is refused as
/// load_own_plugin() does. A path without a '/' is one in the current folder, else where
/// LD_LIBRARY_PATH says.
Result<LoadedPlugin> load_event_function(const std::string& library, const std::string& function);

// A plugin is native code: when it crashes, it takes leatd with it. So that the server that takes
// over knows by which store, that is noted in the segment by the last instructions of this one.

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
