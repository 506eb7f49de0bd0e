// SPDX-License-Identifier: Apache-2.0
// The verb `leat ls`.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::cli {

/// `leat ls [FILE | FOLDER | SESSION]...`.
void add_ls(CLI::App& app, int& exit_code);

}  // namespace leat::cli
