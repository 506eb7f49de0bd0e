// SPDX-License-Identifier: Apache-2.0
// The verb `leat xdmf`.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::command {

void add_xdmf(CLI::App& app, int& exit_code);

}  // namespace leat::command
