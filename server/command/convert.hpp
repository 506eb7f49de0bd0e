// SPDX-License-Identifier: Apache-2.0
// leat convert: an XML for Damaris as one for Leat.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::command {

void add_convert(CLI::App& app, int& exit_code);

}  // namespace leat::command
