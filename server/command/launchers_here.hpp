// SPDX-License-Identifier: Apache-2.0
// Which launchers this machine has.
#pragma once

#include <optional>
#include <string>

#include "lib/base/status.hpp"
#include "server/command/launch_plan.hpp"

namespace leat::command {

/// Of "openmpi", "mpich" or "slurm"; nothing for other names.
std::optional<Launcher> launcher_named(const std::string& name);

struct InstalledLauncher {
  Launcher launcher;
  std::string name;  ///< as typed
  std::string path;
};

/// This launcher, or whichever there is: what `mpirun` is comes first. Says what to do where there is
/// none.
Result<InstalledLauncher> find_launcher(std::optional<Launcher> wanted);

}  // namespace leat::command
