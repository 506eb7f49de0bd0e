// SPDX-License-Identifier: Apache-2.0
// `leat placement`: where ranks, server and memory will be on a machine, this one or a described
// one.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::command {

/// Adds the verb; running it sets `exit_code`.
void add_placement(CLI::App& app, int& exit_code);

}  // namespace leat::command
