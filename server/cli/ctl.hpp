// SPDX-License-Identifier: Apache-2.0
// The verb `leat ctl`.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::cli {

/// `leat ctl SESSION VERB`: asks the server of a running session, or orders it to do something.
void add_ctl(CLI::App& app, int& exit_code);

}  // namespace leat::cli
