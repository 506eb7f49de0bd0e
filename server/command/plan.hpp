// SPDX-License-Identifier: Apache-2.0
// `leat plan`: how long a run would take, by where its output and analyses are done.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::command {

/// Adds the verb; running it sets `exit_code`.
void add_plan(CLI::App& app, int& exit_code);

}  // namespace leat::command
