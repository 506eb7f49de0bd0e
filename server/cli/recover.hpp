// SPDX-License-Identifier: Apache-2.0
// The verb `leat recover`.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::cli {

/// `leat recover FILE`.
void add_recover(CLI::App& app, int& exit_code);

}  // namespace leat::cli
