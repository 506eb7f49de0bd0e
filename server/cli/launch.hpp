// SPDX-License-Identifier: Apache-2.0
// `leat launch`: the command line or job file that starts a run and leaves the server its cores.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::cli {

// `leat launch`: the command line that starts a run and leaves the server its cores.

/// Adds the verb; running it sets `exit_code`.
void add_launch(CLI::App& app, int& exit_code);

}  // namespace leat::cli
