// SPDX-License-Identifier: Apache-2.0
// `leat predict`: what analytics that take the cores of nodes now and then cost a simulation whose
// ranks meet in collectives, on more ranks than there are here.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::command {

/// Adds the verb; running it sets `exit_code`.
void add_predict(CLI::App& app, int& exit_code);

}  // namespace leat::command
