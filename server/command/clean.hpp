// SPDX-License-Identifier: Apache-2.0
// `leat clean`: removes what dead sessions of this user left on this node, and says which live.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::command {

/// Adds the verb; running it sets `exit_code`.
void add_clean(CLI::App& app, int& exit_code);

}  // namespace leat::command
