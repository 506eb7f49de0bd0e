// SPDX-License-Identifier: Apache-2.0
// The verbs `leat view` and `leat merge`.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::command {

/// `leat view` and `leat merge`: the one output of a run on several nodes.
void add_view(CLI::App& app, int& exit_code);
void add_merge(CLI::App& app, int& exit_code);

}  // namespace leat::command
