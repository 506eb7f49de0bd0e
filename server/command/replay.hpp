// SPDX-License-Identifier: Apache-2.0
// `leat replay FILE SCRIPT...`: scripts on a stored run. The work is done in Python:
// python-plugins/leat/scripting/replay.py.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::command {

/// Adds the verb; running it becomes another program, or sets `exit_code` when that cannot be
/// started.
void add_replay(CLI::App& app, int& exit_code);

}  // namespace leat::command
