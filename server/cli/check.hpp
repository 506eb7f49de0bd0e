// SPDX-License-Identifier: Apache-2.0
// `leat check FILE`: all errors of a configuration, or one screen of what the run will be.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::cli {

/// Adds the verb; running it sets `exit_code`.
void add_check(CLI::App& app, int& exit_code);

}  // namespace leat::cli
