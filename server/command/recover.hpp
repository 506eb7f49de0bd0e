// SPDX-License-Identifier: Apache-2.0
// The verb `leat recover`.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::command {

/// `leat recover FILE`.
void add_recover(CLI::App& app, int& exit_code);

}  // namespace leat::command
