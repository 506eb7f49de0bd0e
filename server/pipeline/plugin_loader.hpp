// SPDX-License-Identifier: Apache-2.0
// From the path of a library to a plugin that may be called.
#pragma once

#include <string>

#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "server/include/plugin.h"

namespace leat::server {

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

}  // namespace leat::server
